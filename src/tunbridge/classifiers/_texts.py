"""Free text beside other columns: a term of the log-odds, whatever models the other columns.

A classifier of texts gives each text t of a column a score for each class, which is a sum over its words. Beside the
joint distribution of the other columns it counts with a weight,

    log P(c | x, t) = log P(x, c) + Σ_t w_t s(t, c) + const.

The words of a text depend on each other, so that a weight of 1 counts the same evidence several times. The weights are
those that maximise Σ log P(c | x, t) of held-out rows: rows are dealt to folds, those that share a text to the same
one; in each the classifier of the other columns and that of the texts learn from the other folds. A log-normal prior
keeps weights finite where all rows are separated. The score of a class is linear in the words, so an explanation lists
words and columns together.

References
----------
D. H. Wolpert (1992). Stacked generalization. Neural Networks 5, 241–259.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import did_you_mean, shortened
from tunbridge._core.hashing import text_key
from tunbridge._core.packing import unpack
from tunbridge.classifiers._classes import Finish
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.classifiers._parameters import class_of, fitted_content, fitted_of
from tunbridge.classifiers._reading import categorical_mask, is_known_frame, is_one_row
from tunbridge.classifiers._rows import Examples, TextColumns
from tunbridge.classifiers._statistics import Part, Statistics, Structure
from tunbridge.classifiers.explanation.contributions import (
    Changes,
    Compared,
    Given,
    Ranges,
    TableModel,
)
from tunbridge.data import Column, Frame, Table
from tunbridge.data.columns import column_to_arrow
from tunbridge.data.frames import frame_columns
from tunbridge.data.remarks import text_columns
from tunbridge.decisions import Evidence, Explanation
from tunbridge.errors import DataError, TunbridgeWarning

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier

AUTO = "auto"

_FOLDS, _ROWS = 4, 4000  # the folds in which weights are found, and the rows that are dealt to them
_WEIGHTS = np.geomspace(0.01, 32.0, 49)  # the weights that are tried
_LIKELY, _OF_LINEAR, _SPREAD = 0.3, 1.0, 0.5  # median of the weight's prior; that of models whose words are learned
# together; and the standard deviation of the logarithm
_LEAST = -1e6  # of a logarithm of a probability
_SWEEPS = 3  # over the columns, whose weights are found in turn
_DEFAULTS = {"counts": "log", "length": "unit", "idf": True, "smoothing": 0.1}
"""Of the classifier of texts: on the SMS and newsgroup texts of the benchmark they had the least log-loss of the models
that can learn from further rows."""


# Rows


@dataclass(frozen=True, eq=False)
class TableWithTexts(Table):
    """A table with the documents of further columns beside it.

    Parameters
    ----------
    documents : mapping of str to documents
        The documents of each column of texts, as many as the table has rows.
    places : mapping of str to int
        The position of each among all columns.
    """

    documents: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def beside(cls, table: Table, documents: Mapping[str, Any], places: Mapping[str, int]) -> TableWithTexts:
        """Return a table with documents beside it; it may have no columns of its own."""
        made = object.__new__(cls)
        n_rows = next(iter(documents.values())).n_rows
        made.__dict__.update({f: table.__dict__[f] for f in Table.__dataclass_fields__})
        made.__dict__.update(documents=documents, places=places, n_rows=n_rows)
        return made

    @property
    def row_bytes(self) -> float:
        """The bytes that it takes to copy a row and count what it holds, roughly."""
        return super().row_bytes + sum(each.row_bytes for each in self.documents.values())

    def take(self, rows: slice | ArrayLike) -> TableWithTexts:
        """Return the table and the documents of these rows."""
        which = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows)
        documents = {name: each.take(which) for name, each in self.documents.items()}
        return TableWithTexts.beside(super().take(which) if self.columns else self, documents, self.places)

    def keys(self, seed: int) -> np.ndarray:
        """Return a key for each row: equal for equal rows with equal words, else random."""
        total = super().keys(seed) if self.columns else np.zeros(self.n_rows, np.uint64)
        for name, each in self.documents.items():
            total = total + each.keys(seed) * np.array([text_key(name) | 1], np.uint64)
        return total

    def as_known_to(self, learned: Table) -> TableWithTexts:
        """Return the rows with categories missing that no row of another table has; words are looked up by models."""
        return TableWithTexts.beside(super().as_known_to(learned), self.documents, self.places)


def texts_apart(estimator: Any, table: Table) -> Table:
    """Return training rows with the columns of free text as documents: the table itself, where it has none."""
    if not hasattr(estimator, "feature_names_in_"):
        asked = estimator.text_setting()
        if asked and not _is_auto(asked):
            raise DataError("text must name columns of the data; these have no names. Pass a frame.", parameter="text")
        return table
    makers = _makers(estimator, table)
    if not makers:
        return table
    documents = {}
    for name, maker in makers.items():
        documents[name] = maker.reader().learned(maker, column_to_arrow(table.column(name)), None)
    return TableWithTexts.beside(table.drop(makers), documents, {name: table.positions[name] for name in documents})


def with_documents(texts: Sequence[TextColumn], table: Table, X: Frame) -> TableWithTexts:
    """Return rows for what was learned: the documents are those of columns of X."""
    one = is_one_row(X)
    row: Any = X
    found: Any = dict(row.items()) if one else columns_of(X)
    documents = {}
    for each in texts:
        values = _values(found, each.name, one=one)
        texts_of_rows = pa.nulls(table.n_rows, pa.large_string()) if values is None else _as_text(values)
        documents[each.name] = each.model.reader().known(each.model, texts_of_rows)
    return TableWithTexts.beside(table, documents, {each.name: each.position for each in texts})


def columns_of(X: Frame) -> Any:
    """Return what columns can be taken from more than once: a frame, or the columns of a stream."""
    return X if isinstance(X, Table | Mapping) or is_known_frame(X) else frame_columns(X)


def _as_text(values: Any) -> Any:
    """Return values as texts: numbers and dates as they are written, and nothing at all where all are missing."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        array = values
    else:
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, UnicodeEncodeError):
            return values  # the reader says what is wrong with them
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.large_string())
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal, pa.types.is_boolean)
    return array.cast(pa.large_string()) if any(holds(array.type) for holds in kinds) else array


def _values(X: Any, name: str, *, one: bool) -> Any:
    """Return the values of a column of a frame; None where it is not there."""
    if isinstance(X, Table):
        return column_to_arrow(X.column(name)) if name in X else None
    names = X.columns if is_known_frame(X) else X
    if name not in names:
        return None
    values = [X[name]] if one else X[name]
    return column_to_arrow(values) if isinstance(values, Column) else values


def _makers(estimator: Any, table: Table) -> dict[str, BayesClassifier]:
    """Return an unfitted classifier of texts for each column of free text."""
    asked = estimator.text_setting()
    if asked is None:
        return {}
    if _is_auto(asked):
        kept = categorical_mask(estimator.categorical_columns(), table.names)
        chosen = {n for n, yes in zip(table.names, kept, strict=True) if yes}
        asked = [name for name in text_columns(table) if name not in chosen]
    given: Mapping[str, Any] = asked if isinstance(asked, Mapping) else dict.fromkeys(asked)
    for name in given:
        if name not in table:
            hint = did_you_mean(name, table.names)
            raise DataError(f"text must name columns of the data; got {name!r}. {hint}", parameter="text")
        if not all(isinstance(state, str) for state in table.variable(name).states or (None,)):
            raise DataError(f"text must name columns of texts; column {name!r} holds none.", parameter="text")
    return {name: _maker(given[name], estimator.n_jobs) for name in table.names if name in given}


def _maker(given: Any, n_jobs: int | None) -> BayesClassifier:
    """Return a classifier of texts, whose scores do not count the frequencies of the classes."""
    made: BayesClassifier = class_of("text")(**_DEFAULTS) if given is None else unfitted_copy(given)
    return made.set_params(class_prior="uniform", n_jobs=n_jobs)


def check_text_columns(asked: TextColumns) -> None:
    """Raise unless a parameter says which columns are text."""
    if asked is None or _is_auto(asked):
        return
    names = isinstance(asked, Sequence | Set | Mapping) and not isinstance(asked, str)
    if not names or not all(isinstance(name, str) for name in asked):
        rule = "text must be 'auto', None, a list of columns, or a mapping of columns to classifiers of texts"
        hint = f" For one column give a list: text=[{asked!r}]." if isinstance(asked, str) else ""
        raise DataError(f"{rule}; got {shortened(repr(asked))}.{hint}", parameter="text")
    for name, model in asked.items() if isinstance(asked, Mapping) else ():
        if model is not None and not isinstance(model, class_of("text")):
            rule = f"the classifier of the text {name!r} must be a TextClassifier"
            raise DataError(f"{rule}; got {shortened(repr(model))}.", parameter="text")
        if model is not None:
            model.check_parameters()


def _is_auto(asked: object) -> bool:
    return isinstance(asked, str) and asked == AUTO


# What is kept


@dataclass(frozen=True, eq=False)
class TextColumn:
    """What was learned from a column of texts.

    Parameters
    ----------
    name : str
        The column.
    position : int
        Its position among all columns.
    model : BayesClassifier
        The classifier of its texts, fitted.
    weight : float
        The weight of its scores.
    importance : mapping of str to float
        What the text tells about the class, estimated on held-out rows, by method of importance; in nats.
    """

    name: str
    position: int
    model: BayesClassifier
    weight: float
    importance: Mapping[str, float]

    def merge(self, other: TextColumn) -> TextColumn:
        """Return what was learned from the texts of both, with our weight."""
        both = unfitted_copy(self.model).adopt(self.model.statistics_.merge(other.model.statistics_), None)
        return replace(self, model=both)

    def scores(self, rows: Table) -> np.ndarray:
        """Return what the text adds to log P(c, x), (n_rows, n_classes)."""
        return self.weight * _scores(self.model, rows.documents[self.name])  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Texts(Part):
    """The columns of texts."""

    name: ClassVar[str] = "texts"

    text_columns: tuple[TextColumn, ...]

    def merge(self, other: Self) -> Self:
        """Return what was learned from the texts of both."""
        pairs = zip(self.text_columns, other.text_columns, strict=True)
        return replace(self, text_columns=tuple(a.merge(b) for a, b in pairs))

    def content(self) -> dict[str, Any]:
        """Return the part as content of a file."""
        plain = [
            {
                "column": each.name,
                "position": each.position,
                "weight": each.weight,
                "importance": list(each.importance.items()),
                "model": fitted_content(each.model),
            }
            for each in self.text_columns
        ]
        return {"texts": plain}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Self:
        """Return the part that a file holds; raise ValueError where it is no part of these statistics."""
        found = []
        for each in content["texts"]:
            model, weight = fitted_of(each["model"]), unpack(float, each["weight"])
            if not isinstance(model, class_of("text")) or model.statistics_.target.states != statistics.target.states:
                raise ValueError("its texts do not belong to its classes")
            if not 0.0 <= weight < np.inf:
                raise ValueError("its texts must have weights")
            tells = unpack(dict[str, float], each["importance"])
            found.append(TextColumn(unpack(str, each["column"]), unpack(int, each["position"]), model, weight, tells))
        names = [v.name for v in statistics.variables] + [each.name for each in found]
        places = [each.position for each in found]
        if len(set(names)) < len(names) or places != sorted(set(places) & set(range(len(names)))):
            raise ValueError("its texts do not belong to its features")
        return cls(tuple(found))


def texts_of(statistics: Any) -> tuple[TextColumn, ...]:
    """Return the columns of texts that are a part of statistics."""
    part = getattr(statistics, "parts", {}).get(Texts.name)
    return () if part is None else part.text_columns


def all_names(statistics: Any) -> list[str]:
    """Return the names of all columns, those of texts at their places."""
    names = [v.name for v in statistics.variables]
    for each in texts_of(statistics):
        names.insert(each.position, each.name)
    return names


# Learning


def with_texts(estimator: Any, examples: Examples, statistics: Statistics, before: Any) -> Statistics:
    """Return the statistics of the columns and those of the texts beside them."""
    documents = examples.rows.documents
    known = {each.name: each for each in texts_of(before)}
    if known:
        makers = {name: unfitted_copy(each.model) for name, each in known.items()}
    else:
        given = estimator.text_setting()
        models = given if isinstance(given, Mapping) else {}
        makers = {name: _maker(models.get(name), estimator.n_jobs) for name in documents}
    models = {name: _learned(makers[name], examples, name) for name in documents}
    if known:
        found = [replace(each, model=models[name]) for name, each in known.items()]
    else:
        weights, places = _weights(estimator, examples, makers), examples.rows.places
        found = [TextColumn(n, places[n], models[n], *weights[n]) for n in sorted(documents, key=places.__getitem__)]
    return replace(statistics, parts={**statistics.parts, Texts.name: Texts(tuple(found))})


def _learned(maker: BayesClassifier, examples: Examples, name: str) -> BayesClassifier:
    return unfitted_copy(maker).fit_examples(replace(examples, rows=examples.rows.documents[name]))


def _scores(model: BayesClassifier, documents: Any) -> np.ndarray:
    found: np.ndarray = model.model_.joint(documents, lambda joint: joint, model.n_jobs)
    return found


def _weights(
    estimator: Any, examples: Examples, makers: Mapping[str, BayesClassifier]
) -> dict[str, tuple[float, dict[str, float]]]:
    """Return the weight of each column of texts, and what it tells about the class, found in folds."""
    held = None
    if np.count_nonzero(examples.class_weight) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # all rows together give the same warnings
            held = _held_out(estimator, _some(examples), makers)
    if held is None:
        return {name: (_likely(maker), {}) for name, maker in makers.items()}
    return {name: (weight, held.importance(name)) for name, weight in held.weights().items()}


def _likely(maker: BayesClassifier) -> float:
    """Return the median of the prior of a weight."""
    return _LIKELY if maker.has_joint else _OF_LINEAR


def _some(examples: Examples) -> Examples:
    """Return the rows with a class and a weight; of many some."""
    usable = np.flatnonzero((examples.classes >= 0) & (examples.mass > 0))
    if len(usable) > _ROWS:
        usable = usable[np.argsort(examples.rows.keys(0)[usable], kind="stable")[:_ROWS]]
    return examples.take(usable)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Rows that were held out, of all folds in a line: classes, weights, and what models say of them.

    ``base`` is log P(x, c) of the other columns, (n_rows, n_classes); ``scores`` those of each column of texts, and
    ``likely`` the median of the prior of its weight.
    """

    classes: np.ndarray
    mass: np.ndarray
    log_prior: np.ndarray
    base: np.ndarray
    scores: Mapping[str, np.ndarray]
    likely: Mapping[str, float]

    def weights(self) -> dict[str, float]:
        """Return the weight of each column, found one after the other, several times."""
        found = {name: self.likely[name] for name in sorted(self.scores)}
        for _ in range(_SWEEPS if len(found) > 1 else 1):
            for name in found:
                rest = self.base + sum(w * self.scores[other] for other, w in found.items() if other != name)
                found[name] = self._best(rest, name)
        return found

    def importance(self, name: str) -> dict[str, float]:
        """Return what a column alone tells about the class, by method, in nats."""
        alone = np.broadcast_to(self.log_prior, self.base.shape)
        weight, scores = self._best(alone, name), self.scores[name]
        share = self.mass / self.mass.sum()
        entropy = self._loss(alone)
        own = np.arange(len(self.classes)), self.classes
        rest = self.log_prior + weight * scores
        rest[own] = -np.inf
        top = rest.max(axis=1)
        others = top + np.log(np.exp(rest - top[:, None]).sum(axis=1)) - np.log1p(-np.exp(self.log_prior))[self.classes]
        told = {
            "information": max(0.0, entropy - self._loss(alone + weight * scores)),
            "weight": max(0.0, float((weight * scores[own] - others) @ share)),
        }
        return {method: nats for method, nats in told.items() if np.isfinite(nats)}

    def _best(self, base: np.ndarray, name: str) -> float:
        """Return the most probable weight of those that are tried, given all else."""
        prior = 0.5 * (np.log(_WEIGHTS / self.likely[name]) / _SPREAD) ** 2
        losses = [self.mass.sum() * self._loss(base + w * self.scores[name]) for w in _WEIGHTS]
        return float(_WEIGHTS[np.argmin(np.array(losses) + prior)])

    def _loss(self, joint: np.ndarray) -> float:
        """Return the mean of −log P(c | x)."""
        top = joint.max(axis=1)
        logs = top + np.log(np.exp(joint - top[:, None]).sum(axis=1)) - joint[np.arange(len(top)), self.classes]
        return float(logs @ self.mass / self.mass.sum())


def splits(examples: Examples, n_folds: int) -> Iterator[tuple[Examples, Examples]]:
    """Yield for each fold the rows to learn from and those held out: rows that share a text are in one fold.

    The folds do not depend on the order of the rows. The only text of a class is never held out. Texts that half of the
    rows share are rather categories, and rows are dealt one by one.
    """
    keys = _shared_keys(examples.rows)
    groups, inverse = np.unique(keys, return_inverse=True)
    if 2 * np.bincount(inverse).max(initial=0) > len(inverse):
        yield from examples.splits(n_folds, 0)
        return
    label = np.full(len(groups), examples.target.n_states, np.int64)
    np.minimum.at(label, inverse, examples.classes)
    fold = np.empty(len(groups), np.int64)
    fold[np.lexsort((groups, label))] = np.arange(len(groups)) % n_folds
    fold[np.bincount(label)[label] < 2] = -1
    for k in range(n_folds):
        held = fold[inverse] == k
        if held.any():
            yield examples.take(np.flatnonzero(~held)), examples.take(np.flatnonzero(held))


def _shared_keys(rows: TableWithTexts) -> np.ndarray:
    """Return a key for each row that is the same for rows that share a text, directly or by others between them."""
    found = rows.keys(0)
    each = []
    for documents in rows.documents.values():
        keys = documents.keys(0)
        known = np.diff(documents.starts) > 0
        each.append(np.unique(np.where(known, keys, found), return_inverse=True)[1])
    while True:
        before = found
        for groups in each:
            least = np.full(groups.max(initial=-1) + 1, np.iinfo(np.uint64).max, np.uint64)
            np.minimum.at(least, groups, found)
            found = least[groups]
        if np.array_equal(found, before):
            return found


def _held_out(estimator: Any, examples: Examples, makers: Mapping[str, BayesClassifier]) -> _HeldOut | None:
    """Return what classifiers say of rows that they did not learn from; None where no row can be held out."""
    parts: list[tuple[Examples, np.ndarray, dict[str, np.ndarray]]] = []
    log_prior = np.log((examples.class_weight + 1e-9) / (examples.class_weight + 1e-9).sum())
    for train, held in splits(examples, _FOLDS):
        inner = unfitted_copy(estimator)
        model = inner.adopt(inner.collect(train, None), None).model_
        joint = model.joint(held.rows.as_known_to(train.rows), lambda joint: joint, estimator.n_jobs)
        joint = np.maximum(_possible(joint, log_prior), _LEAST)
        documents = held.rows.documents
        scores = {name: _scores(_learned(makers[name], train, name), documents[name]) for name in makers}
        parts.append((held, joint, scores))
    if len(parts) < 2:
        return None
    return _HeldOut(
        np.concatenate([held.classes for held, _, _ in parts]),
        np.concatenate([held.mass for held, _, _ in parts]),
        log_prior,
        np.concatenate([joint for _, joint, _ in parts]),
        {name: np.concatenate([scores[name] for _, _, scores in parts]) for name in makers},
        {name: _likely(maker) for name, maker in makers.items()},
    )


def _possible(joint: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Return log P(x, c) with the prior in rows that the columns make impossible: the texts still tell."""
    return np.where(np.isfinite(joint.max(axis=1, keepdims=True)), joint, log_prior)


# The model


@dataclass(frozen=True, eq=False)
class ModelWithTexts(TableModel):
    """The joint distribution of the class and the columns, with the scores of texts added.

    What else the model of the columns has, such as tables, can be read from this one.
    """

    inner: TableModel
    texts: tuple[TextColumn, ...]
    class_log_prior: np.ndarray

    def __getattr__(self, name: str) -> Any:
        if name in ("inner", "texts", "class_log_prior") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def parents(self) -> Structure | None:  # type: ignore[override]
        """The parents of each feature in the model of the columns."""
        return self.inner.parents

    @property
    def is_naive(self) -> bool:  # type: ignore[override]
        """Whether the features are independent given the class."""
        return self.inner.is_naive

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row; rows without texts have none."""
        if not isinstance(rows, TableWithTexts):
            return self.inner.joint(rows, finish, n_jobs)
        total = _possible(self.inner.joint(rows, lambda joint: joint, n_jobs), self.class_log_prior)
        return finish(self._with_scores(total, rows).T).T

    def _with_scores(self, joint: np.ndarray, rows: Table) -> np.ndarray:
        for each in self.texts:
            joint = joint + each.scores(rows)
        return joint

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each column adds to log P(x, c); words are not among them."""
        return self.inner.terms(rows)

    def conditions(self, rows: Table) -> Sequence[Given] | None:
        """Return for each row what the term of each feature is conditional on."""
        return self.inner.conditions(rows)

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each column that is no text tells about the class."""
        return self.inner.importances(statistics, method)

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values nearly all of each number with a density lie."""
        return self.inner.ranges(statistics)

    def changed_joint(self, row: Table, changes: Changes, n_jobs: int | None = None) -> np.ndarray:
        """Return log P(x, c) of one row with one value changed, its texts as they are."""
        found = self.inner.changed_joint(row, changes, n_jobs)
        return self._with_scores(found, row) if isinstance(row, TableWithTexts) else found


def with_words(
    found: Sequence[Explanation], texts: Sequence[TextColumn], rows: TableWithTexts, compared: Sequence[Compared]
) -> list[Explanation]:
    """Return explanations with the words of texts among the evidence, the heaviest first."""
    without = [two._replace(prior=0.0) for two in compared]
    reasons = {each.name: each.model.reasons(rows.documents[each.name], without) for each in texts}
    done = []
    for i, explained in enumerate(found):
        told = {each.name: reasons[each.name][i].scaled(each.weight) for each in texts}
        shown = {name: each for name, each in told.items() if each.text}
        words = [Evidence(name, _word(e), e.weight) for name, each in shown.items() for e in each.evidence]
        words += [Evidence(name, None, 0.0) for name in told.keys() - shown.keys()]
        evidence = tuple(sorted([*explained.evidence, *words], key=lambda e: (-abs(e.weight), e.feature)))
        done.append(replace(explained, evidence=evidence, texts=shown))
    return done


def _word(evidence: Evidence) -> str:
    times = f" × {evidence.value}" if isinstance(evidence.value, int) and evidence.value > 1 else ""
    return f"{evidence.feature}{times}"
