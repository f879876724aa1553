"""Which values of a table are missing, which are missing together, and what the missingness depends on.

Values are missing **completely at random** when the missingness is independent of all values; **at random** when, given
the observed values, it is independent of the missing ones; otherwise **not at random** (Rubin 1976). Dropping
incomplete rows is valid in the first case only, EM and imputation in the first two.

The table itself can contradict the first case: if values of X are missing more often for some states of Y than for
others, they are not missing completely at random. For every column X with missing values and every other column the
two-way table of (X is missing, state of Y), over the rows in which Y is observed, gets the G-test

    G = 2 Σ n ln(n / e) ~ χ² with (cells of Y − 1) degrees of freedom,     e: the counts expected under independence.

States of Y that are too rare for the χ² approximation (an expected count below 5 on either side) form one cell,
together with the next rarest if they are still too few. Continuous columns are binned at their quartiles. The p-values
are adjusted for the number of tests by the false discovery rate (Benjamini and Hochberg 1995).

Whether values are missing depending on the missing values themselves cannot be seen in the data.

References
----------
D. B. Rubin (1976). Inference and missing data. Biometrika 63(3), 581–592.
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
testing. Journal of the Royal Statistical Society B 57(1), 289–300.
R. R. Sokal, F. J. Rohlf (1995). Biometry, 3rd edition. Freeman, section 17.2 (the G-test).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import chdtrc, rel_entr

from tunbridge._core.check import check_number, shortened
from tunbridge._core.grid import data_frame, grid_lines, html_grid
from tunbridge._core.memory import check_memory
from tunbridge.counts import Counter
from tunbridge.data import Column, Table, Variable, as_table, equal_frequency
from tunbridge.data.frames import holes_of
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas

_QUARTILES = 4
_LEAST_EXPECTED = 5.0
_MOST_STATES = 200
_OTHERS = "another state"
_MOST_PATTERNS = 100

# What a report shows
_COLUMNS, _PATTERNS, _TESTS = 20, 8, 12
_NAMES = 4  # of the columns of a pattern
_WIDTH = 32
_WRITTEN_OUT = 1e15
_TEST_HEADER = ["missing values of", "depend on", "adjusted p", "share missing"]
_NOT_SEEN = "Whether values are missing depending on the missing values themselves cannot be seen in the data."


class MissingPattern(NamedTuple):
    """Columns that are missing together, and the number (or weight) of the rows in which exactly they are."""

    columns: tuple[str, ...]
    n: float


@dataclass(frozen=True)
class MissingDependence:
    """The test of whether the missing values of a column depend on another column.

    Parameters
    ----------
    column, on : str
        The column with missing values, and the other one.
    statistic : float
        G.
    dof : int
        Its degrees of freedom.
    p_value, adjusted : float
        The p-value, and the p-value adjusted for the number of tests.
    shares : mapping of str to float
        For each state of the other column the share of its rows with a missing value; rare states are combined.
    """

    column: str
    on: str
    statistic: float
    dof: int
    p_value: float
    adjusted: float
    shares: Mapping[str, float]


HolePattern, HoleDependence = MissingPattern, MissingDependence  # their names in earlier versions


@dataclass(frozen=True, repr=False)
class Missingness:
    """The missing values of a table; returned by :func:`missingness`.

    Parameters
    ----------
    n_rows, n_columns : int
        The size of the table.
    weight : float
        The number of rows, or the sum of their weights.
    missing : mapping of str to float
        The number (or weight) of the missing values of each column that has any, largest first.
    n_complete : float
        The number (or weight) of the complete rows.
    patterns : tuple of MissingPattern
        Which columns are missing together in how many rows, most frequent first, at most 100; complete rows are a
        pattern too.
    n_patterns : int
        The number of patterns.
    tests : tuple of MissingDependence
        The tests, smallest p-value first.
    untested : tuple of str
        Columns that were not tested as reasons, because they look like identifiers or have too many states.
    level : float
        The level below which an adjusted p-value is significant.
    """

    n_rows: int
    n_columns: int
    weight: float
    missing: Mapping[str, float]
    n_complete: float
    patterns: tuple[MissingPattern, ...]
    n_patterns: int
    tests: tuple[MissingDependence, ...]
    untested: tuple[str, ...]
    level: float

    @property
    def shares(self) -> dict[str, float]:
        """The share of the rows with a missing value for each column that has any."""
        return {name: n / self.weight for name, n in self.missing.items()}

    @property
    def dependent(self) -> tuple[MissingDependence, ...]:
        """The tests that are significant at the level: evidence against missing completely at random."""
        return tuple(test for test in self.tests if test.adjusted <= self.level)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns with missing values as a pandas.DataFrame: column, missing and share."""
        missing, shares = list(self.missing.values()), list(self.shares.values())
        return data_frame({"column": list(self.missing), "missing": missing, "share": shares})

    def __repr__(self) -> str:
        if not self.missing:
            return _headline(self)
        shares = self.shares
        columns = [[shortened(name, _WIDTH), _amount(n), _percent(shares[name])] for name, n in self.missing.items()]
        patterns = [[_joined(p.columns), _amount(p.n), _percent(p.n / self.weight)] for p in self.patterns]
        return "\n\n".join(
            [
                _headline(self),
                _grid(["column", "missing", "share"], columns[:_COLUMNS], len(columns), "column"),
                _grid(["missing together", "rows", "share"], patterns[:_PATTERNS], self.n_patterns, "pattern"),
                _tests_text(self),
            ]
        )

    def _repr_html_(self) -> str:
        shares = list(self.shares.items())[:_COLUMNS]
        grids = [html_grid(["column", "share missing"], shares, caption=_headline(self))]
        if self.missing:
            patterns = [[_joined(p.columns), _amount(p.n), p.n / self.weight] for p in self.patterns[:_PATTERNS]]
            grids.append(html_grid(["missing together", "rows", "share"], patterns, caption="Patterns"))
        if self.dependent:
            rows = [_test_row(test) for test in self.dependent[:_TESTS]]
            grids.append(html_grid(_TEST_HEADER, rows, caption=f"{_verdict(self)} {_NOT_SEEN}"))
        elif self.missing:
            grids.append(f"<p>{_verdict(self)} {_NOT_SEEN}</p>")
        return "".join(grids)


def missingness(frame: object, *, level: float = 0.05) -> Missingness:
    """Return which values are missing, which are missing together, and on which columns the missingness depends.

    Parameters
    ----------
    frame : any frame
        The data. Weights of a :class:`Table` count as numbers of equal rows.
    level : float
        The level below which an adjusted p-value is significant.

    Notes
    -----
    Takes one pass over all pairs of columns.

    Examples
    --------
    Older people left out their income more often.

    >>> import tunbridge as tb
    >>> age = ["young"] * 60 + ["old"] * 40
    >>> income = [None] * 3 + ["low", "high", "low"] * 19 + [None] * 25 + ["low", "high", "high"] * 5
    >>> tb.missingness({"age": age, "income": income})
    Missingness: 100 rows × 2 columns, 28 missing values (14 %); 72 rows (72 %) are complete
    <BLANKLINE>
    column  missing  share
    income       28   28 %
    <BLANKLINE>
    missing together  rows  share
    (nothing)           72   72 %
    income              28   28 %
    <BLANKLINE>
    Missing values depend on other columns, so they are not missing completely at random (G-tests, 0.05):
    missing values of  depend on  adjusted p  share missing
    income             age           9.9e-11  5 % if young … 62.5 % if old
    Whether values are missing depending on the missing values themselves cannot be seen in the data.
    """
    check_number("level", level, above=0.0, high=1.0)
    table = as_table(frame)
    weights = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights)
    if table.n_rows and not weights.any():
        raise DataError("weights must have a sum above 0; all are 0. Leave them out to count every row once.")
    columns = [c for c in table if c.variable.name in table.missing]
    n_bytes = 3.0 * len(columns) * table.n_rows
    check_memory("the missing values of all columns", n_bytes, ways_out="Leave out columns.")
    masks = np.array([holes_of(c) for c in columns], bool).reshape(len(columns), table.n_rows)
    names = [c.variable.name for c in columns]
    n_missing = [float(weights[mask].sum()) for mask in masks]
    patterns, n_patterns = _patterns(names, masks, weights)
    untested = _untested(table) if names else ()
    reasons = [c for c in table if c.variable.name not in untested]
    return Missingness(
        table.n_rows,
        table.n_columns,
        float(weights.sum()),
        dict(sorted(zip(names, n_missing, strict=True), key=lambda pair: -pair[1])),
        float(weights[~masks.any(axis=0)].sum()),
        patterns,
        n_patterns,
        _adjusted(_tests(names, masks, reasons, table.weights)),
        untested,
        float(level),
    )


def _patterns(names: list[str], masks: np.ndarray, weights: np.ndarray) -> tuple[tuple[MissingPattern, ...], int]:
    """Return the most frequent patterns with the weight of their rows, and the number of all patterns."""
    packed = np.ascontiguousarray(np.packbits(masks, axis=0).T) if names else np.zeros((len(weights), 1), np.uint8)
    keys = packed.view([("", np.uint8)] * packed.shape[1])[:, 0]
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    n = np.bincount(where, weights, len(first))
    order = np.lexsort((first, -n))[: min(_MOST_PATTERNS, int(np.count_nonzero(n)))]
    missing = [np.flatnonzero(masks[:, first[i]]) for i in order]
    found = [MissingPattern(tuple(names[j] for j in some), float(n[i])) for some, i in zip(missing, order, strict=True)]
    return tuple(found), int(np.count_nonzero(n))


# Tests


class _Reason(NamedTuple):
    """A column that missingness may depend on: its name, the labels of its states, and its codes (−1: missing)."""

    name: str
    labels: tuple[str, ...]
    codes: np.ndarray


def _untested(table: Table) -> tuple[str, ...]:
    """Return the columns that are not tested as reasons."""
    names = set(table.identifiers)
    return tuple(c.variable.name for c in table if c.variable.n_states > _MOST_STATES or c.variable.name in names)


def _reason(column: Column, weights: np.ndarray | None) -> _Reason:
    variable = column.variable
    if variable.is_categorical:
        return _Reason(variable.name, tuple(map(str, variable.states or ())), column.values)
    quartiles = equal_frequency(column.values, _QUARTILES, weights)
    return _Reason(variable.name, quartiles.labels, quartiles.codes(column.values))


def _tests(
    names: list[str], masks: np.ndarray, columns: list[Column], weights: np.ndarray | None
) -> Iterator[MissingDependence]:
    """Yield the test of every column with missing values against every other column with at least two states."""
    if not names:
        return
    reasons = [r for c in columns if len((r := _reason(c, weights)).labels) > 1]
    for reason, (absent, present) in zip(reasons, _counts(masks, reasons, weights), strict=True):
        for name, found in zip(names, _independence(absent, present), strict=True):
            if name != reason.name and found.dof > 0:
                p_value = float(chdtrc(found.dof, found.statistic))
                shares = _shares(reason, found)
                yield MissingDependence(name, reason.name, found.statistic, found.dof, p_value, p_value, shares)


def _counts(
    masks: np.ndarray, reasons: list[_Reason], weights: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each reason the weight of the rows of each state with a missing value, and without, by column."""
    parts = [
        Column(Variable(f"missing {i}", ["no", "yes"]), mask.astype(np.int8), pa.string())
        for i, mask in enumerate(masks)
    ]
    parts += [Column(Variable(f"reason {j}", range(len(r.labels))), r.codes, pa.int64()) for j, r in enumerate(reasons)]
    pairs = Counter(Table.of(parts, weights=weights)).pairs()
    for j in range(len(reasons)):
        both = pairs.matrix[: 2 * len(masks), pairs.first[len(masks) + j] : pairs.first[len(masks) + j + 1]]
        yield both[1::2].astype(np.float64), both[::2].astype(np.float64)


class _Found(NamedTuple):
    """G, its degrees of freedom, which states are cells of their own, and the counts of the states."""

    statistic: float
    dof: int
    frequent: np.ndarray
    absent: np.ndarray
    present: np.ndarray


def _independence(absent: np.ndarray, present: np.ndarray) -> Iterator[_Found]:
    """Yield the G-test of each row of counts: states with a missing value against states without."""
    both = absent + present
    total = np.maximum(both.sum(axis=1, keepdims=True), 1e-300)
    share = absent.sum(axis=1, keepdims=True) / total
    frequent = _frequent(both * np.minimum(share, 1.0 - share))
    cells = [_pooled(counts, frequent) for counts in (absent, present, both)]
    g = rel_entr(cells[0], cells[2] * share) + rel_entr(cells[1], cells[2] * (1.0 - share))
    statistics = np.maximum(0.0, 2.0 * g.sum(axis=1))
    dofs = np.where(frequent.any(axis=1), (cells[2] > 0.0).sum(axis=1) - 1, 0)
    for i in range(len(both)):
        yield _Found(float(statistics[i]), int(dofs[i]), frequent[i], absent[i], present[i])


def _frequent(expected: np.ndarray) -> np.ndarray:
    """Return which states are cells of their own, such that the others together are frequent enough as well."""
    frequent = expected >= _LEAST_EXPECTED
    rest = np.where(frequent, 0.0, expected).sum(axis=1)
    few = np.flatnonzero((rest > 0.0) & (rest < _LEAST_EXPECTED) & frequent.any(axis=1))
    frequent[few, np.where(frequent, expected, np.inf)[few].argmin(axis=1)] = False
    return frequent


def _pooled(counts: np.ndarray, frequent: np.ndarray) -> np.ndarray:
    """Return the counts of the frequent states, zero for the others, and last the sum of all others."""
    rest = np.where(frequent, 0.0, counts).sum(axis=1, keepdims=True)
    return np.hstack([np.where(frequent, counts, 0.0), rest])


def _shares(reason: _Reason, found: _Found) -> dict[str, float]:
    """Return the share of missing values in the rows of each frequent state, and of the others together."""
    both, rare = found.absent + found.present, ~found.frequent
    shares = {reason.labels[k]: float(found.absent[k] / both[k]) for k in np.flatnonzero(found.frequent)}
    if both[rare].sum() > 0.0:
        shares[_OTHERS] = float(found.absent[rare].sum() / both[rare].sum())
    return shares


def _adjusted(tests: Iterator[MissingDependence]) -> tuple[MissingDependence, ...]:
    """Return the tests, smallest p-value first, with p-values adjusted after Benjamini and Hochberg."""
    ordered = sorted(tests, key=lambda test: (test.p_value, -test.statistic, test.column, test.on))
    m, p = len(ordered), np.array([test.p_value for test in ordered])
    raised = np.minimum.accumulate((p * m / np.arange(1, m + 1))[::-1])[::-1]
    return tuple(replace(test, adjusted=min(1.0, float(a))) for test, a in zip(ordered, raised, strict=True))


# Text


def _headline(report: Missingness) -> str:
    size = f"{_counted(report.n_rows, 'row')} × {_counted(report.n_columns, 'column')}"
    if report.weight != report.n_rows:
        size += f" (weight {_amount(report.weight)})"
    if not report.missing:
        return f"Missingness: {size}, no missing values"
    n = sum(report.missing.values())
    values = f"{_counted(n, 'missing value')} ({_percent(n / (report.weight * report.n_columns))})"
    complete = f"{_counted(report.n_complete, 'row')} ({_percent(report.n_complete / report.weight)})"
    return f"Missingness: {size}, {values}; {complete} {'is' if report.n_complete == 1 else 'are'} complete"


def _joined(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return (", ".join(shortened(name, _WIDTH) for name in names[:_NAMES]) or "(nothing)") + more


def _tests_text(report: Missingness) -> str:
    lines = [_verdict(report)]
    if report.dependent:
        rows = [_test_row(test) for test in report.dependent[:_TESTS]]
        lines.append(_grid(_TEST_HEADER, rows, len(report.dependent), "dependence", left=(0, 1, 3)))
    if report.untested:
        names = _joined(report.untested)
        lines.append(f"Not tested as reasons, because nearly every row differs or there are too many states: {names}.")
    return "\n".join([*lines, _NOT_SEEN])


def _verdict(report: Missingness) -> str:
    if not report.tests:
        return "There are too few rows or columns to test whether the missing values depend on other columns."
    if not report.dependent:
        return (
            f"No dependence of missing values on other columns was found (G-tests, {report.level:g}): no evidence "
            "against missing completely at random."
        )
    because = "so they are not missing completely at random"
    return f"Missing values depend on other columns, {because} (G-tests, {report.level:g}):"


def _test_row(test: MissingDependence) -> list[str]:
    by_share = sorted(test.shares.items(), key=lambda pair: pair[1])
    ends = [by_share[0], by_share[-1]] if len(by_share) > 1 else by_share
    shares = " … ".join(f"{_percent(share)} if {shortened(state, _WIDTH)}" for state, share in ends)
    return [shortened(test.column, _WIDTH), shortened(test.on, _WIDTH), f"{test.adjusted:.2g}", shares]


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], n: int, what: str, left: Collection[int] = (0,)) -> str:
    """Return a table as aligned text; the last line counts the rows that are not shown."""
    more = [f"… and {_counted(n - len(rows), f'more {what}')}"] if n > len(rows) else []
    return "\n".join([*grid_lines(header, rows, left=left), *more])


def _percent(share: float) -> str:
    """Return a share in per cent, never rounded to 0 or 100 when it is neither.

    Examples
    --------
    >>> _percent(0.28), _percent(0.62512), _percent(0.00002), _percent(0.99999), _percent(1.0)
    ('28 %', '62.5 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if 0.0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1.0 else f"{round(100.0 * share, 1):g} %"


def _amount(n: float) -> str:
    return str(int(n)) if n == int(n) and n < _WRITTEN_OUT else f"{n:.6g}"


def _counted(n: float, noun: str) -> str:
    return f"{_amount(n)} {noun}{'' if n == 1 else 's'}"
