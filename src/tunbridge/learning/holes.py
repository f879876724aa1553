"""What is missing in a table, what is missing together, and on what the holes depend.

Cells are missing **completely at random** when the holes have nothing to do with any value; **at random** when, given
the values that are there, they have nothing to do with those that are not; else **not at random** (Rubin 1976).
Dropping rows is right in the first case only, EM and imputation in the first two.

The first can be spoken against by the table itself: if the holes of X come more often with some states of Y than with
others, they are not completely at random. For every column with holes and every other column the two-way table of
(hole of X, state of Y), over the rows in which Y is there, gets the G-test

    G = 2 Σ n ln(n / e) ~ χ² of (cells of Y − 1) degrees of freedom,     e: what independence would expect,

where states of Y too rare for the χ² approximation (an expected count below 5 on either side) go together as one cell,
with the next rarest where they are still too few.
Continuous columns are cut at their quartiles. As many tests are made, the p-values are adjusted so that among those
below a level the share of false ones is expected to be at most that level (Benjamini and Hochberg 1995).

Whether holes depend on the very values that they hide cannot be seen: both the table of those who kept their income to
themselves at random, and the one of those who did because it was high, may be the same.

References
----------
D. B. Rubin (1976). Inference and missing data. Biometrika 63(3), 581–592.
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
testing. Journal of the Royal Statistical Society B 57(1), 289–300.
R. R. Sokal, F. J. Rohlf (1995). Biometry, 3rd edition. Freeman, section 17.2 (the G-test).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tunbridge._check import check_number
from tunbridge._memory import check_memory
from tunbridge.counts import Counter
from tunbridge.data import Column, Table, Variable, as_table, equal_frequency
from tunbridge.data.indicators import holes_of
from tunbridge.errors import DataError
from tunbridge.learning.holes_text import html_report, text_report

_QUARTILES = 4
_LEAST_EXPECTED = 5.0
_MOST_STATES = 200
_OTHERS = "another state"
_MOST_PATTERNS = 100


class HolePattern(NamedTuple):
    """Columns that are missing together, and the number of rows (or the weight of them) in which just they are."""

    columns: tuple[str, ...]
    n: float


@dataclass(frozen=True)
class HoleDependence:
    """The test of whether the holes of a column depend on another column.

    Parameters
    ----------
    column, on : str
        The column with the holes, and the other one.
    statistic : float
        G.
    dof : int
        Its degrees of freedom.
    p_value, adjusted : float
        The probability of a G as large by chance alone, and the same adjusted for the number of tests.
    shares : mapping of str to float
        For each state of the other column in which share of its rows there is a hole; rare states go together.
    """

    column: str
    on: str
    statistic: float
    dof: int
    p_value: float
    adjusted: float
    shares: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Missingness:
    """What is missing in a table; made by :func:`missingness`.

    Parameters
    ----------
    n_rows, n_columns : int
        The size of the table.
    weight : float
        The number of rows, or the sum of their weights.
    missing : mapping of str to float
        For each column with holes their number (or weight), the most first.
    n_complete : float
        The number (or the weight) of rows without a hole.
    patterns : tuple of HolePattern
        Which columns are missing together in how many rows, the most frequent first, 100 at most; rows without a hole
        are a pattern too.
    n_patterns : int
        How many patterns there are.
    tests : tuple of HoleDependence
        The tests, the least p-value first.
    untested : tuple of str
        Columns that were not tried as reasons for holes, because they look like identifiers or have too many states.
    level : float
        The level below which an adjusted p-value counts.
    """

    n_rows: int
    n_columns: int
    weight: float
    missing: Mapping[str, float]
    n_complete: float
    patterns: tuple[HolePattern, ...]
    n_patterns: int
    tests: tuple[HoleDependence, ...]
    untested: tuple[str, ...]
    level: float

    @property
    def shares(self) -> dict[str, float]:
        """For each column with holes the share of the rows that miss it."""
        return {name: n / self.weight for name, n in self.missing.items()}

    @property
    def dependent(self) -> tuple[HoleDependence, ...]:
        """The tests that speak against missing completely at random, at the level."""
        return tuple(test for test in self.tests if test.adjusted <= self.level)

    def __repr__(self) -> str:
        return text_report(self)

    def _repr_html_(self) -> str:
        return html_report(self)


def missingness(frame: Any, *, level: float = 0.05) -> Missingness:
    """Return what is missing in a table, what is missing together, and on which columns the holes depend.

    Parameters
    ----------
    frame : any frame
        The data. Weights of a :class:`Table` count as numbers of equal rows.
    level : float
        The level below which an adjusted p-value counts as a sign that holes depend on a column.

    Notes
    -----
    The cost is that of counting all pairs of columns, which is little.

    Examples
    --------
    Older people kept their income to themselves more often.

    >>> import tunbridge as tb
    >>> age = ["young"] * 60 + ["old"] * 40
    >>> income = [None] * 3 + ["low", "high", "low"] * 19 + [None] * 25 + ["low", "high", "high"] * 5
    >>> tb.missingness({"age": age, "income": income})
    Missingness: 100 rows × 2 columns, 28 missing cells (14 %); 72 rows (72 %) are complete
    <BLANKLINE>
    column  missing  share
    income       28   28 %
    <BLANKLINE>
    missing together  rows  share
    (nothing)           72   72 %
    income              28   28 %
    <BLANKLINE>
    Holes depend on other columns, so they are not completely at random (G-tests, 0.05):
    holes of  depend on  adjusted p  share of holes
    income    age           9.9e-11  5 % if young … 62.5 % if old
    Whether a hole depends on the value that it hides cannot be seen in the data.
    """
    check_number("level", level, above=0.0, high=1.0)
    table = as_table(frame)
    weights = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights)
    if table.n_rows and not weights.any():
        raise DataError("weights must have a sum above 0; all are 0. Leave them out to count every row once.")
    columns = [c for c in table if c.variable.name in table.missing]
    check_memory("the holes of all columns", 3.0 * len(columns) * table.n_rows, ways_out="Leave out columns.")
    holes = np.array([holes_of(c) for c in columns], bool).reshape(len(columns), table.n_rows)
    names = [c.variable.name for c in columns]
    n_missing = [float(weights[mask].sum()) for mask in holes]
    patterns, n_patterns = _patterns(names, holes, weights)
    untested = _untested(table) if names else ()
    return Missingness(
        table.n_rows,
        table.n_columns,
        float(weights.sum()),
        dict(sorted(zip(names, n_missing, strict=True), key=lambda pair: -pair[1])),
        float(weights[~holes.any(axis=0)].sum()),
        patterns,
        n_patterns,
        _adjusted(_tests(names, holes, [c for c in table if c.variable.name not in untested], table.weights)),
        untested,
        float(level),
    )


def _patterns(names: list[str], holes: np.ndarray, weights: np.ndarray) -> tuple[tuple[HolePattern, ...], int]:
    """Return the heaviest patterns of holes with the weight of their rows, and how many patterns there are."""
    packed = np.ascontiguousarray(np.packbits(holes, axis=0).T) if names else np.zeros((len(weights), 1), np.uint8)
    keys = packed.view([("", np.uint8)] * packed.shape[1])[:, 0]
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    n = np.bincount(where, weights, len(first))
    order = np.lexsort((first, -n))[: min(_MOST_PATTERNS, int(np.count_nonzero(n)))]
    missing = [np.flatnonzero(holes[:, first[i]]) for i in order]
    found = [HolePattern(tuple(names[j] for j in some), float(n[i])) for some, i in zip(missing, order, strict=True)]
    return tuple(found), int(np.count_nonzero(n))


# Tests


class _Reason(NamedTuple):
    """A column that holes may depend on: its name, the labels of its states, and its codes (−1: missing)."""

    name: str
    labels: tuple[str, ...]
    codes: np.ndarray


def _untested(table: Table) -> tuple[str, ...]:
    """Return the columns that are not tried as reasons for holes."""
    names = set(table.identifiers)
    return tuple(c.variable.name for c in table if c.variable.n_states > _MOST_STATES or c.variable.name in names)


def _reason(column: Column, weights: np.ndarray | None) -> _Reason:
    variable = column.variable
    if variable.is_categorical:
        return _Reason(variable.name, tuple(map(str, variable.states or ())), column.values)
    quartiles = equal_frequency(column.values, _QUARTILES, weights)
    return _Reason(variable.name, quartiles.labels, quartiles.codes(column.values))


def _tests(
    names: list[str], holes: np.ndarray, columns: list[Column], weights: np.ndarray | None
) -> Iterator[HoleDependence]:
    """Yield the test of every column with holes against every other column, as far as there is something to test."""
    if not names:
        return
    reasons = [r for c in columns if len((r := _reason(c, weights)).labels) > 1]
    for reason, (with_hole, without) in zip(reasons, _counts(holes, reasons, weights), strict=True):
        for name, found in zip(names, _independence(with_hole, without), strict=True):
            if name != reason.name and found.dof > 0:
                p_value = _chi2_tail(found.statistic, found.dof)
                shares = _shares(reason, found)
                yield HoleDependence(name, reason.name, found.statistic, found.dof, p_value, p_value, shares)


def _counts(
    holes: np.ndarray, reasons: list[_Reason], weights: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each reason the weight of the rows of each state with a hole, and of those without, by column."""
    parts = [
        Column(Variable(f"hole {i}", ["no", "yes"]), mask.astype(np.int8), pa.string()) for i, mask in enumerate(holes)
    ]
    parts += [Column(Variable(f"reason {j}", range(len(r.labels))), r.codes, pa.int64()) for j, r in enumerate(reasons)]
    pairs = Counter(Table.of(parts, weights=weights)).pairs()
    for j in range(len(reasons)):
        both = pairs.matrix[: 2 * len(holes), pairs.first[len(holes) + j] : pairs.first[len(holes) + j + 1]]
        yield both[1::2].astype(np.float64), both[::2].astype(np.float64)


class _Found(NamedTuple):
    """G, its degrees of freedom, which states are cells of their own, and the counts of the states."""

    statistic: float
    dof: int
    frequent: np.ndarray
    with_hole: np.ndarray
    without: np.ndarray


def _independence(with_hole: np.ndarray, without: np.ndarray) -> Iterator[_Found]:
    """Yield the G-test of each row of counts: of states with a hole against states without."""
    from scipy.special import rel_entr

    both = with_hole + without
    total = np.maximum(both.sum(axis=1, keepdims=True), 1e-300)
    share = with_hole.sum(axis=1, keepdims=True) / total
    frequent = _frequent(both * np.minimum(share, 1.0 - share))
    cells = [_pooled(counts, frequent) for counts in (with_hole, without, both)]
    g = rel_entr(cells[0], cells[2] * share) + rel_entr(cells[1], cells[2] * (1.0 - share))
    statistics = np.maximum(0.0, 2.0 * g.sum(axis=1))
    dofs = np.where(frequent.any(axis=1), (cells[2] > 0.0).sum(axis=1) - 1, 0)
    for i in range(len(both)):
        yield _Found(float(statistics[i]), int(dofs[i]), frequent[i], with_hole[i], without[i])


def _frequent(expected: np.ndarray) -> np.ndarray:
    """Return which states are cells of their own, so that the others together are frequent enough as well."""
    frequent = expected >= _LEAST_EXPECTED
    rest = np.where(frequent, 0.0, expected).sum(axis=1)
    few = np.flatnonzero((rest > 0.0) & (rest < _LEAST_EXPECTED) & frequent.any(axis=1))
    frequent[few, np.where(frequent, expected, np.inf)[few].argmin(axis=1)] = False
    return frequent


def _pooled(counts: np.ndarray, frequent: np.ndarray) -> np.ndarray:
    """Return the counts of the frequent states, zero for the others, and behind them those of all others together."""
    rest = np.where(frequent, 0.0, counts).sum(axis=1, keepdims=True)
    return np.hstack([np.where(frequent, counts, 0.0), rest])


def _shares(reason: _Reason, found: _Found) -> dict[str, float]:
    """Return the share of holes in the rows of each frequent state, and of the others together."""
    both, rare = found.with_hole + found.without, ~found.frequent
    shares = {reason.labels[k]: float(found.with_hole[k] / both[k]) for k in np.flatnonzero(found.frequent)}
    if both[rare].sum() > 0.0:
        shares[_OTHERS] = float(found.with_hole[rare].sum() / both[rare].sum())
    return shares


def _chi2_tail(g: float, dof: int) -> float:
    """Return the probability that χ² exceeds g."""
    from scipy.special import chdtrc

    return float(chdtrc(dof, g))


def _adjusted(tests: Iterator[HoleDependence]) -> tuple[HoleDependence, ...]:
    """Return the tests, the least p-value first, with p-values adjusted after Benjamini and Hochberg."""
    ordered = sorted(tests, key=lambda test: (test.p_value, -test.statistic, test.column, test.on))
    m, least, found = len(ordered), 1.0, []
    for rank in range(m, 0, -1):
        test = ordered[rank - 1]
        least = min(least, test.p_value * m / rank)
        found.append(HoleDependence(**{**vars(test), "adjusted": least}))
    return tuple(reversed(found))
