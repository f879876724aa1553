"""Imputation in one step: a network is learned from an incomplete table, and fills its missing cells.

The network is learned from all rows as they are, by EM: categories as such, numbers as linear Gaussian variables
(positive numbers that are very skewed by their logarithms). Then every missing cell gets what the network infers from
the rest of its row (:mod:`tunbridge.inference.filling`): the most probable state and its probability, or the
conditional mean and an interval. Where logarithms have the mean μ and the variance σ², the mean of the numbers is
exp(μ + σ²/2); what is filled in is at most the largest known value, because a long tail may move it far beyond. So the
cells of a column differ with what is known of their rows.

What cannot be inferred is left as it is, and named: identifiers, free text, and columns without values.

References
----------
D. B. Rubin (1987). Multiple Imputation for Nonresponse in Surveys. Wiley, chapter 3.
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models. JASA
87, 1098–1108.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from tunbridge._core.check import as_list, check_choice, check_known, check_number, counted
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import column_to_arrow, infer_column
from tunbridge.data.values import DAY
from tunbridge.errors import DataError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import read_rows
from tunbridge.inference.filling import filled_cells
from tunbridge.inference.imputation import METHODS
from tunbridge.learning.networks import learn_network
from tunbridge.learning.parameters.fit import fit_parameters
from tunbridge.learning.structure import learn_structure
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas

_FEW_INTEGERS = 10  # different values, of which a column of integers is taken as categories
_MOST_STATES = 50
_TEXT_SHARE = 0.2  # states per row, from which on a column holds texts or names
_LEARNED_ROWS = 20_000
_SKEWED = 2.0
_MOST_DIGITS = 5  # after the point, to which filled numbers are rounded as the others are


class FilledCell(NamedTuple):
    """A filled cell: its row (counted from 0) and column, the value, and how sure it is.

    A category has the ``probability`` of its state; a number the ends ``low`` and ``high`` of an interval; a date,
    which counts as a number, neither.
    """

    row: int
    column: str
    value: Any
    probability: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Imputed:
    """A table whose missing values are filled in.

    Parameters
    ----------
    table : Table
        The table, with known values as they were.
    cells : tuple of FilledCell
        What was filled in, column by column.
    skipped : dict of str to str
        The columns with missing values that were left as they are, and why.
    network : BayesianNetwork, optional
        What was learned; None where nothing had to be filled in.
    level : float
        The probability of the intervals.
    """

    table: Table
    cells: tuple[FilledCell, ...]
    skipped: dict[str, str]
    network: BayesianNetwork | None
    level: float

    @property
    def counts(self) -> dict[str, int]:
        """The number of filled cells of each column."""
        found: dict[str, int] = {}
        for cell in self.cells:
            found[cell.column] = found.get(cell.column, 0) + 1
        return found

    @property
    def unrelated(self) -> tuple[str, ...]:
        """The filled columns about which no other column tells: without ``"sample"`` their cells get one value."""
        net = self.network
        return () if net is None else tuple(name for name in self.counts if not net.markov_blanket(name))

    def to_arrow(self) -> pa.Table:
        """Return the filled table as a pyarrow.Table."""
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the filled table as a pandas frame."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def report(self) -> pa.Table:
        """Return a table with a line for each filled cell: row (counted from 1), column, value, and how sure it is."""
        cells = [cell._replace(row=cell.row + 1, value=str(cell.value)) for cell in self.cells]
        types = [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.float64(), pa.float64()]
        columns = [[cell[k] for cell in cells] for k in range(len(types))]
        columns[3:] = [[None if x is None else float(f"{x:.6g}") for x in column] for column in columns[3:]]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.table(arrays, names=list(FilledCell._fields))

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {n}" for name, n in self.counts.items())
        lines = [f"{counted(len(self.cells), 'missing value')} imputed{f': {counts}' if counts else ''}"]
        lines += [f"no other column tells about {name}: its cells get one value" for name in self.unrelated]
        return "\n".join([*lines, *(f"not imputed: {name} {why}" for name, why in self.skipped.items())])

    __repr__ = __str__


def impute(
    frame: object,
    method: str = "most-probable",
    *,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    level: float = 0.9,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Imputed:
    """Return a table with its missing values filled in by a network that is learned from it.

    Parameters
    ----------
    frame : frame, dict of columns, or Table
        The rows; any values may be missing.
    method : {"most-probable", "sample"}
        The most probable category and the conditional mean of a number given the rest of the row; or a draw from
        their joint distribution, which keeps the spread of the data and the dependences between columns.
    columns : iterable of str, optional
        The columns to fill; default: all.
    ignore : iterable of str
        Columns that are neither filled nor used.
    level : float
        The probability that an interval of a number contains it.
    random_state : int, numpy Generator or None
        The random seed of "sample".
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    Imputed
        The ``table``, the filled ``cells`` with a probability or an interval each, and the ``skipped`` columns.

    Notes
    -----
    The network is learned from at most 20 000 rows; all are filled. Values are filled in as if they were missing at
    random given the values that are known. To analyse a filled table as if it were complete, draw several
    (``method="sample"`` with several seeds) and pool the results.

    Examples
    --------
    >>> import tunbridge as tb
    >>> age = [31, 35, 42, 47, 52, 58, 63, 66, 71, 74] * 3
    >>> rows = {"age": age, "weight": [None if i == 4 else 0.5 * a + 40 + i % 3 for i, a in enumerate(age)]}
    >>> found = tb.impute(rows)
    >>> found
    1 missing value imputed: weight 1
    >>> found.cells[0].column, round(found.cells[0].value), found.cells[0].low < 67 < found.cells[0].high
    ('weight', 67, True)
    """
    check_choice("method", method, METHODS)
    level = check_number("level", level, above=0, high=0.9999)
    table = as_table(frame)
    asked = _asked(table, columns)
    left_out = set(as_list("ignore", ignore, "column names"))
    check_known("ignore must name columns of the table", left_out, table.names)
    useful, useless = _useful(table, left_out)
    skipped = {name: why for name, why in useless.items() if name in asked and name in table.missing}
    wanted = [name for name in asked if name in useful and name in table.missing]
    if not wanted:
        return Imputed(table, (), skipped, None, level)
    if len(useful) < 2:
        rule = "a table must have two columns at least that tell about each other"
        raise DataError(f"{rule} to be imputed; got {len(useful)}.")
    prepared, scales = _prepared(table, useful)
    entropy = entropy_of(random_state)
    net = _learned(_sampled(prepared, entropy), entropy, n_jobs)
    rng = np.random.default_rng(entropy) if method == "sample" else None
    return _filled(table, prepared, wanted, scales, net, skipped=skipped, level=level, rng=rng, n_jobs=n_jobs)


def _asked(table: Table, columns: Iterable[str] | None) -> list[str]:
    if columns is None:
        return list(table.names)
    names = as_list("columns", columns, "column names")
    check_known("columns must name columns of the table", names, table.names)
    return names


def _useful(table: Table, left_out: set[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns that a network can be learned from, and why each of the others is none."""
    useless = dict.fromkeys(left_out, "is ignored")
    useless |= dict.fromkeys(table.identifiers, "looks like an identifier")
    for column in table:
        name, n_states = column.variable.name, column.variable.n_states
        n_known = table.n_rows - table.missing.get(name, 0)
        if not n_known:
            useless[name] = "has no values"
        elif name in table.constants:
            useless[name] = "has only one value"
        elif n_states > max(_MOST_STATES, 0) or (n_states > _FEW_INTEGERS and n_states > _TEXT_SHARE * n_known):
            useless.setdefault(name, f"has {n_states} different texts")
    return [name for name in table.names if name not in useless], useless


def _prepared(table: Table, useful: Sequence[str]) -> tuple[Table, set[str]]:
    """Return the columns to learn from, few integers as categories, and which numbers are logarithms."""
    columns, scales = [], set()
    for column in table.select(useful):
        if pa.types.is_temporal(column.type) and column.variable.is_continuous:
            column = Column(Variable(column.variable.name), column.values / DAY, pa.float64())
        elif column.variable.is_continuous:
            known = column.values[~np.isnan(column.values)]
            distinct = np.unique(known)
            if len(distinct) <= _FEW_INTEGERS and (distinct == np.round(distinct)).all():
                column = infer_column(column.variable.name, column_to_arrow(column), "categorical")
            elif known.min() > 0 and _skewness(known) > _SKEWED:
                scales.add(column.variable.name)
                column = Column(Variable(column.variable.name), np.log(column.values), pa.float64())
            else:
                column = column._replace(values=np.asarray(column.values, np.float64))
        columns.append(column)
    return Table.of(columns, weights=table.weights), scales


def _skewness(values: np.ndarray) -> float:
    centred = values - values.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / deviation**3 if deviation > 0 else 0.0


def _sampled(table: Table, seed: int) -> Table:
    if table.n_rows <= _LEARNED_ROWS:
        return table
    rows = np.random.default_rng(seed).choice(table.n_rows, _LEARNED_ROWS, replace=False)
    return table.take(np.sort(rows))


def _learned(table: Table, seed: int, n_jobs: int | None) -> BayesianNetwork:
    """Return a network of an incomplete table.

    A first one, of the rows that are complete in each family, draws the missing values; the structure of the second
    one is learned from the completed table, so that no row is lost, and its parameters from the incomplete one by EM.
    """
    first = learn_network(table, n_jobs=n_jobs)
    if not table.missing:
        return first
    complete = first.impute(table, "sample", random_state=seed, n_jobs=n_jobs).recode(table.variables)
    dag = learn_structure(complete, "bic", "tabu", n_jobs=n_jobs)
    return fit_parameters(dag, table, n_jobs=n_jobs)


def _filled(
    table: Table,
    prepared: Table,
    wanted: Sequence[str],
    scales: set[str],
    net: BayesianNetwork,
    *,
    skipped: dict[str, str],
    level: float,
    rng: np.random.Generator | None,
    n_jobs: int | None,
) -> Imputed:
    """Return the table with the cells that the network fills."""
    engine = Engine(tuple(net.cpts.values()))
    rows = read_rows(engine, prepared)
    asked = [engine.index[name] for name in wanted if name in engine.index]
    width, new, told = float(ndtri(0.5 + level / 2)), {}, []
    for cells in filled_cells(engine, rows, asked, rng=rng, n_jobs=n_jobs):
        variable = engine.variables[cells.variable]
        column = table.column(variable.name)
        if variable.is_continuous and pa.types.is_temporal(column.type):
            values = _times(column, cells.values)
            written = column_to_arrow(column._replace(values=values)).to_pylist()
            told += [FilledCell(i, variable.name, time) for i, time in zip(cells.rows.tolist(), written, strict=True)]
        elif variable.is_continuous:
            is_logarithm = variable.name in scales
            shift = 0.5 * cells.certainty**2 if is_logarithm and rng is None else np.zeros(len(cells.values))
            values, ends = _numbers(column, cells.values, width * cells.certainty, shift, is_logarithm=is_logarithm)
            told += [
                FilledCell(i, variable.name, value, None, low, high)
                for i, value, low, high in zip(cells.rows.tolist(), values.tolist(), *ends, strict=True)
            ]
        else:
            states: Any = variable.states
            named = [states[code] for code in cells.values.tolist()]
            shares = cells.certainty.tolist()
            told += [
                FilledCell(i, variable.name, s, p) for i, s, p in zip(cells.rows.tolist(), named, shares, strict=True)
            ]
            own = column.variable
            values = np.array([float(s) if own.is_continuous else own.code(s) for s in named])
        changed = column.values.copy()
        changed[cells.rows] = values
        new[variable.name] = column._replace(values=changed)
    filled = table.with_columns([new.get(column.variable.name, column) for column in table])
    return Imputed(filled, tuple(told), skipped, net, level)


def _times(column: Column, days: np.ndarray) -> np.ndarray:
    """Return dates or times, in seconds, within the range and with the precision of a column, such as whole days."""
    known = column.values[~np.isnan(column.values)]
    step = next((s for s in (DAY, 3600, 60) if not (known % s).any()), 1)
    return np.clip(np.round(days * DAY / step) * step, known.min(), known.max())


def _numbers(
    column: Column, values: np.ndarray, half: np.ndarray, shift: np.ndarray, *, is_logarithm: bool
) -> tuple[np.ndarray, tuple[list[float], list[float]]]:
    """Return numbers with the sign and the precision of a column, and the ends of their intervals.

    They may lie beyond the known values: what is missing may be what is large. Means of numbers that are modelled by
    their logarithms, which ``shift`` makes of medians, do not. An end is moved where it would leave out the number.
    """
    known = column.values[~np.isnan(column.values)]
    digits = next((k for k in range(_MOST_DIGITS) if (known == np.round(known, k)).all()), None)
    least, most = _bounds(known, digits)
    back = np.exp if is_logarithm else np.asarray
    found, low, high = (np.clip(back(part), least, most) for part in (values, values - half, values + half))
    found = np.where(shift > 0, np.maximum(found, np.minimum(back(values + shift), known.max())), found)
    found = found if digits is None else np.round(found, digits)
    return found, (np.minimum(low, found).tolist(), np.maximum(high, found).tolist())


def _bounds(known: np.ndarray, digits: int | None) -> tuple[float, float]:
    """Return what numbers of one sign must not go below or above: zero, or the number next to it if none is zero."""
    next_to_zero = 0.5 * float(np.abs(known).min()) if digits is None else 10.0**-digits
    nearest = 0.0 if (known == 0.0).any() else next_to_zero
    return nearest if known.min() >= 0.0 else -np.inf, -nearest if known.max() <= 0.0 else np.inf
