"""What a network is learned from and by: columns with states, the search, the score, and constraints on the arcs.

Options are checked before the table is read, so that a mistake is reported at once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.registry import entries
from tunbridge.cli.files import near_file
from tunbridge.cli.options import From
from tunbridge.cli.output import UsageError, shortlist
from tunbridge.cli.training import IDENTIFIER, ONE_VALUE, SHOWN, Columns, useless_columns, with_classes
from tunbridge.data import Column, Table
from tunbridge.data.columns import column_to_arrow, infer_column
from tunbridge.data.discretisation import learn_cuts
from tunbridge.errors import DataError
from tunbridge.learning import Constraints, Score, Search
from tunbridge.learning.scores.discrete import as_score, score_names

DEFAULT_SEARCH, DEFAULT_BINS = "hill-climbing", 5
DEFAULT_SCORE, DEFAULT_SCORE_OF_MISSING = "bic", "nal"
_STEPLESS = ("exact", "k-dependence")
_AVERAGES = ("nal", "pnal")
_SHOWN_LABELS = 6
_OWNERS = {
    "restarts": "hill-climbing, tabu or orders",
    "candidates": "sparse-candidate",
    "checkpoint": "sparse-candidate",
    "k": "k-dependence",
}

_SEARCH, _ARCS = "Search", "Known arcs"
MaxParents = Annotated[dict[str, Any], From("learning", "learn_structure", "max_parents", panel=_SEARCH)]
Restarts = Annotated[dict[str, Any], From("learning", "HillClimbing", "", "restarts", _SEARCH)]
Sparse = Annotated[
    dict[str, Any], From("learning", "SparseCandidate", "", "k=candidates checkpoint=checkpoint:FILE", _SEARCH)
]
Dependence = Annotated[dict[str, Any], From("learning", "KDependence", "", "k", _SEARCH)]
Arcs = Annotated[
    dict[str, Any],
    From(
        "learning", "Constraints", "required=require:'A->B' forbidden=forbid:'A->B' tiers=tier:A,B",
        "roots=root:COL leaves=leaf:COL", _ARCS,
    ),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Search.

    Parameters
    ----------
    search : NAME
        The search: {search} (default: hill-climbing); tan, fan and k-dependence need --target.
    score : NAME[:NUMBER]
        The score: {score}; bdeu:10 has the equivalent sample size 10 (default: bic, or nal with --no-structural-em if
        values are missing).
    bootstrap : N >= 2
        Learn from N resampled tables, and keep the arcs on which most of them agree.
    random_state, --seed : N >= 0
        The random seed (default: 0).
    cuts
        Discretize numbers into bins with equal numbers of rows, of equal width, or such that they separate the classes
        of --target (mdl); or keep them as Gaussian variables (none).
    bins : N >= 2
        The number of bins (default: 5).

    Other Parameters
    ----------------
    threshold : P
        With --bootstrap: the share of the graphs in which two variables must be joined (default: more than half).
    structural_em
        If values are missing: learn the graph and its tables together by structural EM (default), or score each family
        on the rows where it is complete.
    trace : FILE
        Draw the score after each move into a .png, .svg or .pdf file.
    tier_file, --tiers : FILE
        The tiers from a file, a line for each.
    """

    search: str | None = None
    score: str | None = None
    bootstrap: int | None = None
    random_state: int | None = None
    cuts: Literal["frequency", "width", "mdl", "none"] | None = None
    bins: int | None = None
    threshold: float | None = None
    structural_em: bool | None = None
    trace: Path | None = None
    tier_file: Path | None = None
    max_parents: MaxParents
    restarts: Restarts
    sparse: Sparse
    dependence: Dependence
    arcs: Arcs

    @property
    def checkpoint(self) -> str | None:
        """The file in which the search by sparse candidates keeps its state."""
        return self.sparse.get("checkpoint")

    @property
    def search_name(self) -> str:
        """The name of the search, as the library writes it."""
        return (self.search or DEFAULT_SEARCH).strip().lower().replace("_", "-").replace(" ", "-")

    def check(self, target: str | None) -> None:
        """Raise unless the options fit each other."""
        if self.cuts == "mdl" and target is None:
            raise UsageError("--cuts mdl must come with --target, whose classes it separates.")
        if self.cuts in ("none", "mdl") and self.bins is not None:
            why = "with none nothing is discretized" if self.cuts == "none" else "mdl finds the number of bins"
            raise UsageError(f"--bins must come with --cuts frequency or width; {why}.")
        if self.threshold is not None and self.bootstrap is None:
            raise UsageError("--threshold must come with --bootstrap.")
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"--threshold must be from 0 to 1; got {self.threshold}.")
        singles = {"trace": self.trace, "checkpoint": self.checkpoint}
        for name in (name for name, value in singles.items() if value is not None and self.bootstrap is not None):
            raise UsageError(f"--{name} must come with a single search; got --bootstrap.")
        if self.structural_em and self.cuts == "none":
            raise UsageError("--structural-em must come with states or bins; got --cuts none.")
        for name, value in {"bootstrap": self.bootstrap, **singles}.items():
            if self.structural_em and value is not None:
                raise UsageError(f"--{name} must come with a single search; got --structural-em, which makes several.")
        if self.trace is not None and self.search_name in _STEPLESS:
            raise UsageError(f"--trace must come with a search that makes moves; {self.search_name} makes none.")

    def make_search(self, target: str | None) -> Search:
        """Return the search with its settings, by the names of their options; raise for those that it does not have."""
        sparse = {"candidates" if name == "k" else name: value for name, value in self.sparse.items()}
        settings, known = {**self.restarts, **sparse, **self.dependence}, entries("search")
        if self.search_name not in known:
            raise _not_among("--search", self.search, known)
        kind = known[self.search_name].load()
        if self.score is not None and not kind.is_scored:
            raise UsageError(f"--score must come with a search by score; {self.search_name} goes by information alone.")
        own = {f.name for f in fields(kind)}
        is_sparse = kind.name == "sparse-candidate"
        own = own - {"k"} | {"candidates"} if is_sparse else own
        for name in settings:
            if name not in own:
                raise UsageError(f"--{name} must come with --search {_OWNERS[name]}; got {self.search_name}.")
        chosen = {"k" if name == "candidates" else name: value for name, value in settings.items()}
        if "target" in own:
            if target is None:
                raise UsageError(f"--search {self.search_name} must come with --target, the class it is built around.")
            chosen["target"] = target
        return kind(**chosen)

    def alternates(self, search: Search, table: Table) -> bool:
        """Return whether the graph and its tables are learned together, the default if values are missing."""
        if not table.missing or self.structural_em is not None:
            return bool(table.missing and self.structural_em)
        single = any(option is not None for option in (self.bootstrap, self.trace, self.checkpoint))
        averages = (self.score or "").partition(":")[0] in _AVERAGES
        numbers = any(v.is_continuous for v in table.variables)
        return search.is_scored and not (single or averages or numbers)

    def make_score(self, *, averaged: bool = False) -> Score:
        """Return the score; a number after its name is its first option.

        The default is BIC or, if ``averaged``, one that averages over the rows where a family is complete.
        """
        usual = DEFAULT_SCORE_OF_MISSING if averaged else DEFAULT_SCORE
        name, sign, number = (self.score or usual).partition(":")
        try:
            score = as_score(name)
        except DataError:
            raise _not_among("--score", self.score, score_names()) from None
        own = [f.name for f in fields(score)]
        if sign and not own:
            raise UsageError(f"--score {name} must come without a number; got {self.score!r}.")
        try:
            return replace(score, **{own[0]: float(number)}) if sign else score
        except DataError as error:
            raise UsageError(f"in --score {self.score}, {error}") from None
        except ValueError:
            raise UsageError(f"in --score {self.score}, a number must follow the colon; got {number!r}.") from None

    def make_constraints(self) -> Constraints | None:
        """Return what is known about the arcs; None if that is nothing."""
        arcs = self.arcs
        if "tiers" in arcs and self.tier_file is not None:
            raise UsageError("tiers must come from --tier or from --tiers; got both.")
        if not arcs and self.tier_file is None:
            return None
        for name, option in (("required", "--require"), ("forbidden", "--forbid")):
            for text in arcs.get(name, ()):
                if "->" not in text and "→" not in text:
                    hint = "Quote it: without quotes the shell takes > for a file to write to."
                    raise UsageError(f"{option} must be an arc such as 'A->B'; got {text!r}. {hint}")
        tiers = _tiers("--tier", arcs.get("tiers", ())) if self.tier_file is None else _tier_file(self.tier_file)
        return Constraints(**{**arcs, "tiers": tiers})


@dataclass(frozen=True)
class Material:
    """What a network is learned from.

    Parameters
    ----------
    table : Table
        Categorical columns; with ``--cuts none`` continuous ones too.
    read : Table
        The same columns as they were read, numbers not discretized.
    left_out : dict of str to str
        The columns that were left out, and why.
    cut : list of str
        A line for each column of numbers that was discretized.
    """

    table: Table
    read: Table
    left_out: dict[str, str]
    cut: list[str]

    @property
    def left_out_lines(self) -> list[str]:
        """A line for each column that was left out, and what to do about it."""
        lines = [f"{name} {what}" for name, what in self.left_out.items()]
        can_stay = any(what in (ONE_VALUE, IDENTIFIER) for what in self.left_out.values())
        return [*lines, *(["(--categorical NAME keeps such a column)"] if can_stay else [])]


def make_material(
    table: Table, target: str | None, structure: Structure, columns: Columns, *, discretise: bool = False
) -> Material:
    """Return the columns from which something can be learned, with states, unless numbers stay numbers."""
    coded = table if target is None else with_classes(table, target).whole
    useless = useless_columns(coded)
    kept = {target, *(name for name in columns.categorical if coded.missing.get(name, 0) < coded.n_rows)}
    gone = {name: what for name, what in useless.items() if name not in kept}
    read = coded.drop(gone)
    cut, lines, without = _with_states(read, target, structure, discretise=discretise)
    left_out = gone | without
    if cut.n_columns < 2:
        others = shortlist([f"{name} {what}" for name, what in left_out.items()], most=SHOWN)
        rule = "a network must be learned from two columns at least"
        raise DataError(f"{rule}; got {cut.n_columns}.{f' Left out: {others}.' if others else ''}")
    return Material(cut, read.drop(without), left_out, lines)


def _with_states(
    table: Table, target: str | None, structure: Structure, *, discretise: bool
) -> tuple[Table, list[str], dict[str, str]]:
    """Return the table with its numbers discretized, a line for each, and the columns that no cut can split."""
    numbers = [v.name for v in table.variables if v.is_continuous]
    if structure.cuts == "none":
        return table, [], {}
    wanted = discretise or structure.cuts is not None or structure.bins is not None
    if numbers and not wanted:
        raise _still_numbers(numbers)
    classes = table.codes(target) if target is not None and structure.cuts == "mdl" else None
    lines, without = [], {}
    for name in numbers:
        column = _cut(table, name, structure, classes)
        if column.variable.n_states < 2:
            without[name] = "has no cut that separates the classes"
            continue
        states = [str(state) for state in column.variable.states or ()]
        lines.append(f"{name}: {shortlist(states, most=_SHOWN_LABELS)}")
        table = table.with_column(column)
    return table.drop(without), lines, without


def _cut(table: Table, name: str, structure: Structure, classes: Any) -> Column:
    """Return a column of numbers in bins; each value is a state if they are few integers."""
    values, bins = table.floats(name), structure.bins or DEFAULT_BINS
    if structure.cuts != "mdl" and _are_few_integers(values, bins):
        return infer_column(name, column_to_arrow(table.column(name)), "categorical")
    method: Any = structure.cuts or "frequency"
    return learn_cuts(values, method, classes=classes, weights=table.weights, n_bins=bins).column(name, values)


def _are_few_integers(values: Any, most: int) -> bool:
    distinct = np.unique(values[~np.isnan(values)])
    return len(distinct) <= most and bool((distinct == np.round(distinct)).all())


def _still_numbers(names: list[str]) -> DataError:
    some = f"{listed(names, most=6)} {'holds' if len(names) == 1 else 'hold'} numbers"
    ways = (
        "--cuts frequency discretizes them, --cuts none makes them Gaussian variables, --categorical COL makes each "
        "value a state"
    )
    return DataError(f"the columns of a network must have states; {some}. {ways}, --ignore COL leaves a column out.")


# Names and arcs


def _not_among(option: str, given: str | None, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is none of those known."""
    names = list(known)
    near = did_you_mean(given, names)
    hint = f" {near}" if near.startswith("Did") else ""  # the names are listed already
    return UsageError(f"{option} must be one of {listed(names, most=len(names))}; got {given!r}.{hint}")


def _tiers(what: str, lines: Iterable[str]) -> list[list[str]]:
    """Return the names in each line, written as in a CSV file: a name with a comma is quoted."""
    found = [[name.strip() for name in row] for row in csv.reader(lines, skipinitialspace=True) if row]
    for row in found:
        if "" in row:
            raise UsageError(f"{what} must be names separated by commas; got {','.join(row)!r}.")
    return found


def _tier_file(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise DataError(f"--tiers must be a file that exists; got {str(path)!r}.{near_file(path)}")
    try:
        found = _tiers(f"each line of {path.name}", path.read_text(encoding="utf-8-sig").splitlines())
    except UnicodeDecodeError:
        raise DataError(f"--tiers must be a text file in UTF-8; {path.name} is none.") from None
    if not found:
        raise DataError(f"--tiers must hold a line of names for each tier; {path.name} is empty.")
    return found
