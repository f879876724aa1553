"""What a person would notice in a table before learning from it: columns that tell nothing or give the target away,
classes that are rare, categories that are spelled in several ways, and texts among numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import counted, listed
from tunbridge.data.arrow import Frame
from tunbridge.data.columns import Column
from tunbridge.data.discretisation import mdl_cuts
from tunbridge.data.formats.spelling import odd_dates
from tunbridge.data.frames import as_table, with_classes
from tunbridge.data.table import Table
from tunbridge.data.variable import State, Variable, number_of

_TOLD = 0.995  # of the rows whose class a column tells: then it may be made from the class
_FEWEST, _ROWS = 30, 20_000
_RARE = 10
_FEWEST_TEXTS, _ROWS_A_TEXT = 10, 5  # different values of a column of texts, and the rows of each at most
_LOOKED_AT, _WORDS = 200, 4  # values that are looked at, and how many words they have in the mean
_SHOWN = 6

ONE_VALUE, IDENTIFIER = "has only one value", "looks like an identifier"


class Remark(NamedTuple):
    """What is odd about a column, as a sentence; ``value`` is the text in question, such as a missing marker, and
    ``form`` that of the dates among which it stands.
    """

    kind: str
    column: str
    text: str
    value: str = ""
    form: str = ""


SUSPECTED = ("suspected", "sentinel", "no number", "no date")
"""The kinds of remarks on values that may stand for missing ones."""

_HINTS = {"spelling": " (merge_categories=True)"} | dict.fromkeys(SUSPECTED, "; missing=[{value}] reads it so")
"""The parameters of ``read_table``, by the kind of remark."""

_HINTS_FOR_FRAMES = {
    "spelling": "; in pandas, data[{column}].str.strip().str.casefold() merges them",
    "suspected": "; in pandas, data[{column}].mask(data[{column}] == {value}) makes it missing",
    "sentinel": "; in pandas, data[{column}].mask(data[{column}] == {plain}) makes it missing",
    "no number": "; in pandas, pd.to_numeric(data[{column}], errors='coerce') makes it missing, and the others numbers",
    "no date": "; in pandas, pd.to_datetime(data[{column}], format={form}, errors='coerce') makes it missing, and the "
    "others dates",
}
"""What to do about data that did not come from a file."""


def remarks(frame: Frame, target: str | None = None) -> list[str]:
    """Return a sentence for each thing in a table that looks like a mistake, before anything is learned from it.

    These are identifiers and constant columns, columns that give the target away, rare classes, categories that differ
    in capitals or blanks only, values that may stand for missing ones, and texts among numbers. ``tunbridge learn``
    prints the same, and :func:`classify` keeps them. The ``fit`` of a classifier looks for none of it.

    Parameters
    ----------
    frame : any frame
        The data.
    target : str, optional
        The column of the classes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"id": range(40), "paid": ["y", "n"] * 20, "sex": ["f", "f", "F", "m"] * 10, "late": ["no", "yes"] * 20}
    >>> for remark in tb.remarks(rows, "late"):  # doctest: +ELLIPSIS
    ...     print(remark)
    id looks like an identifier
    paid tells the class of 100 % of the rows: if it is made from late, or known only later, leave it out
    sex has categories that differ in capitals or blanks only: 'f' and 'F'; in pandas, ...
    """
    table = as_table(frame)
    if target is not None:
        table = with_classes(table, target)[0]
    useless = useless_columns(table, keep=[*text_columns(table), target])
    table = table.drop(useless)
    found = [*(() if target is None else of_target(table, target)), *of_columns(table)]
    hints = _HINTS_FOR_FRAMES if table.reading is None else _HINTS
    return [*(f"{name} {what}" for name, what in useless.items()), *in_words(found, hints, repr)]


def in_words(found: Iterable[Remark], hints: Mapping[str, str], shown: Callable[[str], str]) -> list[str]:
    """Return remarks as sentences, each with the hint of its kind, in which ``shown`` writes names and values."""
    return [
        each.text
        + hints.get(each.kind, "").format(
            column=shown(each.column), value=shown(each.value), plain=each.value, form=shown(each.form)
        )
        for each in found
    ]


def useless_columns(table: Table, keep: Collection[str | None] = ()) -> dict[str, str]:
    """Return the columns from which nothing can be learned, and what is wrong with each, but for some to keep.

    Examples
    --------
    >>> import tunbridge as tb
    >>> useless_columns(tb.as_table({"id": [f"p{i}" for i in range(20)], "age": [31, 45] * 10, "unit": ["A"] * 20}))
    {'unit': 'has only one value', 'id': 'looks like an identifier'}
    """
    odd = dict.fromkeys(table.constants, ONE_VALUE)
    odd |= {name: "has only missing values" for name, n in table.missing.items() if n == table.n_rows}
    odd |= dict.fromkeys(table.identifiers, IDENTIFIER)
    return {name: what for name, what in odd.items() if name not in keep}


def of_target(table: Table, target: str) -> Iterator[Remark]:
    """Yield the columns that tell the class, and the rare classes."""
    for name, share in giveaways(table, target):
        told = f"{name} tells the class of {100 * share:.4g} % of the rows"
        yield Remark("giveaway", name, f"{told}: if it is made from {target}, or known only later, leave it out")
    for label, n in islice(rare_classes(table, target).items(), _SHOWN):
        yield Remark("rare", target, f"class {str(label)!r} has {counted(n, 'row')} only")


def of_columns(table: Table) -> Iterator[Remark]:
    """Yield what is odd about the values of columns: spellings, markers of missing values, texts among numbers."""
    for name, groups in spellings(table.drop(text_columns(table))).items():
        pairs = list(groups.items())[:_SHOWN]
        spelled = "; ".join(f"{kept!r} and {listed(list(others))}" for kept, others in pairs)
        yield Remark("spelling", name, f"{name} has categories that differ in capitals or blanks only: {spelled}")
    yield from suspected(table)


def suspected(table: Table) -> Iterator[Remark]:
    """Yield the values that may stand for missing ones."""
    for name, marks in table.suspected_missing.items():
        variable = table.variable(name)
        states = [str(state) for state in variable.states or ()]
        dates = odd_dates(states)
        others = "date" if dates else "number" if any(number_of(state) is not None for state in states) else ""
        for mark, n in marks.items():
            if others:
                text = f"{name} is categorical, because {mark!r} ({counted(n, 'row')}) is not a {others}"
                yield Remark(f"no {others}", name, text, mark, dates.form if dates else "")
            else:
                kind = "sentinel" if variable.is_continuous else "suspected"
                yield Remark(kind, name, f"{name}: {mark!r} ({counted(n, 'row')}) may be a missing value", mark)


class GivenAway(NamedTuple):
    """A column that tells the class of nearly every row."""

    column: str
    share: float


def text_columns(table: Table) -> list[str]:
    """Return the columns that hold texts rather than categories: hardly a value twice, and several words in most.

    Examples
    --------
    >>> import tunbridge as tb
    >>> text_columns(tb.as_table({"note": [f"It was day {i} of the trial." for i in range(40)]}))
    ['note']
    """
    return [column.variable.name for column in table if _holds_texts(column)]


def _holds_texts(column: Column) -> bool:
    states = list(column.variable.states or ())
    if len(states) <= _FEWEST_TEXTS or not isinstance(states[0], str) or not isinstance(states[-1], str):
        return False
    codes = column.values[column.values >= 0]
    if len(states) <= len(codes) / _ROWS_A_TEXT or _mean_words(states[:: 1 + len(states) // _LOOKED_AT]) < _WORDS:
        return False
    return len(np.unique(codes)) > max(_FEWEST_TEXTS, len(codes) / _ROWS_A_TEXT)


def _mean_words(states: Sequence[State]) -> float:
    """Return how many words states have, in the mean; none where one of them is no text."""
    if not all(isinstance(state, str) for state in states):
        return 0.0
    return sum(len(str(state).split()) for state in states) / max(1, len(states))


def giveaways(table: Table, target: str) -> list[GivenAway]:
    """Return the columns, each of which alone tells the class of nearly all rows.

    The class of a row is taken as the most frequent one of its state, or of its bin. Columns with fewer than ten rows
    a state are left out. If one class has nearly all rows, a column must leave less than a tenth of the errors that
    this class alone would make.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"paid": ["y", "n"] * 30, "flag": [1.0, 0.0] * 30, "age": list(range(60)), "late": ["no", "yes"] * 30}
    >>> [found.column for found in giveaways(tb.as_table(rows), "late")]
    ['flag', 'paid']
    """
    if table.n_rows > _ROWS:
        table = table.take(np.sort(np.random.default_rng(0).permutation(table.n_rows)[:_ROWS]))
    classes = table.codes(target)
    known = classes >= 0
    counts = np.bincount(classes[known])
    if known.sum() < _FEWEST or len(counts) < 2:
        return []
    least = 1.0 - 0.1 * (1.0 - counts.max() / counts.sum())
    found = []
    for column in table:
        if column.variable.name == target:
            continue
        codes = _bins(column.values, classes) if column.variable.is_continuous else column.values
        share = _told(codes, classes, known)
        if share >= max(_TOLD, least):
            found.append(GivenAway(column.variable.name, share))
    return sorted(found, key=lambda each: (-each.share, each.column))


def _bins(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return mdl_cuts(values, classes, (classes >= 0).astype(np.float64)).codes(values)


def _told(codes: np.ndarray, classes: np.ndarray, known: np.ndarray) -> float:
    """Return the share of rows whose class is the most frequent one of their state."""
    use = known & (codes >= 0)
    if not use.any() or use.sum() < 0.5 * known.sum():
        return 0.0
    n_states, n_classes = int(codes[use].max()) + 1, int(classes[use].max()) + 1
    if len(np.unique(codes[use])) > use.sum() / 10:
        return 0.0
    cells = np.bincount(codes[use].astype(np.int64) * n_classes + classes[use], minlength=n_states * n_classes)
    return float(cells.reshape(n_states, n_classes).max(axis=1).sum() / use.sum())


def number_ranges(table: Table) -> dict[str, tuple[float, float]]:
    """Return the least and greatest value of each column of numbers.

    Examples
    --------
    >>> import tunbridge as tb
    >>> number_ranges(tb.as_table({"age": [31.0, None, 62.0], "word": ["a", "b", "a"]}))
    {'age': (31.0, 62.0)}
    """
    found = {}
    for variable, values, _ in table:
        if variable.is_continuous and not np.isnan(values).all():
            found[variable.name] = (float(np.nanmin(values)), float(np.nanmax(values)))
    return found


def far_values(name: str, values: np.ndarray, ranges: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """Return which values of a column are farther outside of its range than the range is wide.

    Examples
    --------
    >>> import numpy as np
    >>> far_values("age", np.array([62.0, 80.0, 621.0, np.nan]), {"age": (31.0, 62.0)}).tolist()
    [False, False, True, False]
    """
    low, high = ranges.get(name, (-np.inf, np.inf))
    width = high - low
    with np.errstate(invalid="ignore"):
        return np.asarray((values < low - width) | (values > high + width))


def rare_classes(table: Table, target: str) -> dict[State, int]:
    """Return the classes that fewer than ten rows have, and a tenth of those of the largest class; and how many do.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rare_classes(tb.as_table({"y": ["a"] * 40 + ["b"] * 3}), "y")
    {'b': 3}
    """
    codes = table.codes(target)
    counts = np.bincount(codes[codes >= 0], minlength=table.variable(target).n_states)
    states = table.variable(target).states or ()
    most = counts.max(initial=0) / _RARE
    return {state: int(n) for state, n in zip(states, counts, strict=True) if 0 < n < _RARE and n <= most}


def spellings(table: Table) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each column the categories that differ in capitals or blanks only, by the most frequent spelling
    without blanks around it.

    Examples
    --------
    >>> import tunbridge as tb
    >>> spellings(tb.as_table({"ill": ["yes", "Yes", "yes", "no", "no "]}))
    {'ill': {'yes': ('Yes',), 'no': ('no ',)}}
    """
    found = {}
    for variable, codes, _ in table:
        texts = [s for s in variable.states or () if isinstance(s, str)]
        if len({_plain(text) for text in texts}) < len(texts):
            found[variable.name] = _groups(variable, np.bincount(codes[codes >= 0], minlength=variable.n_states))
    return found


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _groups(variable: Variable, counts: np.ndarray) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[int]] = {}
    for code, state in enumerate(variable.states or ()):
        if isinstance(state, str):
            groups.setdefault(_plain(state), []).append(code)
    found, states = {}, [str(state) for state in variable.states or ()]
    for codes in groups.values():
        first, *others = sorted(codes, key=lambda code: (states[code].strip() != states[code], -counts[code], code))
        if others:
            found[states[first]] = tuple(states[code] for code in others)
    return found


def merged_spellings(table: Table, groups: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Table:
    """Return a table in which other spellings of a category are that category.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.as_table({"ill": ["yes", "Yes", "no", "yes"]})
    >>> merged_spellings(table, spellings(table)).variable("ill").states
    ('yes', 'no')
    """
    for name, kept in groups.items():
        if name not in table.names:
            continue
        column = table.column(name)
        spelled = {other: state for state, others in kept.items() for other in others}
        states = column.variable.states or ()
        left = list(dict.fromkeys(spelled.get(str(s), s) if isinstance(s, str) else s for s in states))
        place = np.array([left.index(spelled.get(str(s), s) if isinstance(s, str) else s) for s in states], np.intp)
        values = np.where(column.values >= 0, place[column.values], -1).astype(column.values.dtype)
        variable = Variable(name, left, ordered=column.variable.ordered)
        table = table.with_column(column._replace(variable=variable, values=values))
    return table
