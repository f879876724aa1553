"""What a fitted classifier says about itself: classes, settings, training size, and features with their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from tunbridge._core.check import counted, listed, shortened
from tunbridge._core.grid import grid_lines, html_table, plain_number
from tunbridge.classifiers._statistics import inner_statistics
from tunbridge.classifiers._texts import all_names, texts_of
from tunbridge.data import Variable
from tunbridge.data.variable import date_text

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier

_CLASSES, _FEATURES, _STATES = 30, 30, 5  # shown at most
_NAME, _VALUES = 30, 44  # letters
_HEADER = ("feature", "type", "values")


def summary_text(model: BayesClassifier[Any], most: int | None = _FEATURES) -> str:
    """Return the summary of a classifier as text, with at most ``most`` features (None: all)."""
    lines = [f"{what:<9}  {text}" for what, text in _fields(model)]
    features = _features(model)
    shown = features[:most]
    if shown:
        lines += ["", *grid_lines(_HEADER, shown, left=None)]
    if len(shown) < len(features):
        lines.append(f"… and {counted(len(features) - len(shown), 'more feature')}")
    return "\n".join([_title(model), *lines])


def summary_html(model: BayesClassifier[Any]) -> str:
    """Return the summary of a classifier as HTML, everything escaped."""
    fields = html_table(["", ""], [*_fields(model)], left=None)
    shown = _features(model)[:_FEATURES]
    features = html_table(_HEADER, shown, left=None) if shown else ""
    return f"<p>{escape(_title(model))}</p>{fields}{features}"


def _title(model: BayesClassifier[Any]) -> str:
    return f"{model!r} learned from {counted(round(float(model.class_count_.sum())), 'row')}"


def _fields(model: BayesClassifier[Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines about the model as a whole: what, and the text."""
    labels, counts = model.classes_[:_CLASSES].tolist(), model.class_count_.tolist()
    shown = ", ".join(f"{label} {count:g}" for label, count in zip(labels, counts, strict=False))
    more = f", … ({len(counts)} in all)" if len(counts) > _CLASSES else ""
    yield "target", f"{model.statistics_.target.name}: {shown}{more}"
    names = all_names(inner_statistics(model.statistics_))
    if names:
        yield "features", f"{len(names)}: {listed(names)}"
    yield from model._described().items()
    if scores := getattr(model, "evaluation_", None):
        yield "accuracy", _scores_text(scores)
    if text := str(getattr(model, "reading_", None) or ""):
        yield "reading", "; ".join(text.splitlines())


def _scores_text(scores: Mapping[str, float]) -> str:
    """Return the scores recorded at training as text.

    Examples
    --------
    >>> _scores_text({"accuracy": 0.85, "log_loss": 0.31, "folds": 5.0})
    '0.850, log-loss 0.310 in 5-fold cross-validation'
    """
    shown = {"accuracy": "", "log_loss": "log-loss "}
    numbers = ", ".join(f"{word}{scores[name]:.3f}" for name, word in shown.items() if name in scores)
    return f"{numbers} in {scores['folds']:g}-fold cross-validation" if "folds" in scores else numbers


def _features(model: BayesClassifier[Any]) -> list[tuple[str, str, str]]:
    """Return the name, the type and the values of every feature; of a text the number of words, and its weight."""
    found = [_feature(model, j) for j in range(len(model.variables_))]
    for each in texts_of(inner_statistics(model.statistics_)):
        words = counted(each.model.statistics_.amounts.shape[0], "different word")
        found.insert(
            each.position, (shortened(each.name, _NAME), "text", f"{words}, weight {each.weight:.2g} of naive Bayes")
        )
    return found


def _feature(model: BayesClassifier[Any], j: int) -> tuple[str, str, str]:
    """Return the name, the type and the values of a feature."""
    encoding = getattr(inner_statistics(model.statistics_), "encoding", None)
    variable: Variable = model.variables_[j]
    name = shortened(variable.name, _NAME)
    if variable.is_categorical:
        return name, f"categorical, {counted(variable.n_states, 'state')}", _states(variable)
    cuts = getattr(encoding, "cuts", {})
    if j in cuts:
        binned = cuts[j].variable(variable.name, dates=variable.dates)
        return name, f"{'date' if variable.dates else 'number'}, {counted(binned.n_states, 'bin')}", _states(binned)
    ends = getattr(model, "ranges_", {}).get(variable.name)
    shown = date_text if variable.dates else plain_number
    return name, "date" if variable.dates else "number", "" if ends is None else " … ".join(map(shown, ends))


def _states(variable: Variable) -> str:
    states = [str(state) for state in variable.states or ()]
    more = ", …" if len(states) > _STATES else ""
    return shortened(", ".join(states[:_STATES]), _VALUES) + more
