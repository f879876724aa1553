"""The base class of conditional tables: a variable, its parents, and a distribution for each parent configuration.

A configuration has a number, counted with the last parent fastest, so that configuration j is row j of the dense table
seen as a matrix,

    P(X = k | configuration j) = table.reshape(−1, n_states)[j, k].

The kinds of tables differ in how they store rows: all of them (:class:`CPT`), those that were seen and one for the
others (:class:`SparseCPT`), or a rule that computes them (:class:`NoisyMaxCPT`).
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import counted, did_you_mean, listed, shortened
from tunbridge._core.grid import html_grid, text_grid
from tunbridge._core.memory import check_memory
from tunbridge.counts.radix import configuration_codes
from tunbridge.data import Variable
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.graph.names import joined
from tunbridge.graph.walks import named_cycle
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.reading import check_n_axes, checked_codes, checked_counts, locked

if TYPE_CHECKING:
    import pandas

SHOWN_ROWS = 20
_WAYS_OUT = "Get single rows with rows(codes), or fix some parents with reduced()."


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConditionalTable(ABC):
    """The distribution of a variable for each configuration of its parents: the base class of all tables.

    Attributes
    ----------
    variable : Variable
        The variable.
    parents : tuple of Variable
        Its parents.
    counts : ndarray or None
        The Dirichlet counts behind the stored rows, of the same shape as these, if the table was learned.

    Notes
    -----
    Two tables are equal if they have the same kind, variables and probabilities. Counts are not compared.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    counts: np.ndarray | None
    shape: tuple[int, ...]
    """The shape of the dense table: the numbers of states of the parents, then of the variable."""
    n_configurations: int
    """The number of configurations of the parents, an integer of any size."""

    def _set_family(self, variable: Variable, parents: tuple[Variable, ...]) -> None:
        """Set the variables of a new table, and the sizes that follow from them."""
        sizes = [p.n_states for p in parents]
        shape = (*sizes, variable.n_states)
        self.__dict__.update(variable=variable, parents=parents, shape=shape, n_configurations=math.prod(sizes))

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of free probabilities."""

    # Rows

    @abstractmethod
    def _table(self) -> np.ndarray: ...

    @abstractmethod
    def _rows(self, codes: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _reduced(self, fixed: dict[int, int]) -> ConditionalTable: ...

    @abstractmethod
    def _values(self) -> tuple[np.ndarray, ...]: ...

    def table(self) -> np.ndarray:
        """Return all rows as a read-only array of shape ``shape``; raise an error if it would not fit into memory."""
        n_bytes = 8 * self.n_configurations * self.variable.n_states
        check_memory(f"the dense table of {self.variable.name!r}", n_bytes, ways_out=_WAYS_OUT)
        check_n_axes(self.variable, self.parents)
        return locked(self._table())

    def rows(self, codes: ArrayLike) -> np.ndarray:
        """Return the row for each configuration.

        Parameters
        ----------
        codes : array-like of int, shape (n, n_parents)
            The codes of the parents' states.

        Returns
        -------
        ndarray of shape (n, n_states)
        """
        return self._rows(checked_codes(self.variable, self.parents, codes))

    def distribution(self, given: Mapping[str, object] | None = None) -> Distribution:
        """Return the distribution of the variable for one configuration of its parents.

        Parameters
        ----------
        given : mapping of parent name to state
            A state for every parent; omit it without parents.
        """
        codes = self._configuration(given or {})
        row = self._rows(np.array([codes], np.int64).reshape(1, -1))[0].copy()  # not a view of a writable array
        return Distribution.of_valid((self.variable,), row)

    def reduced(self, codes: Mapping[str, int]) -> ConditionalTable:
        """Return the table with the named parents fixed at these codes; they are no longer parents."""
        fixed = self._fixed(codes)
        return self._reduced(fixed) if fixed else self

    def with_counts(self, counts: ArrayLike | None) -> Self:
        """Return the same table with other Dirichlet counts behind its stored rows, or with ``None``."""
        checked = None if counts is None else self._checked_counts(counts)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, counts=checked)
        return other

    def _checked_counts(self, counts: ArrayLike) -> np.ndarray:
        return checked_counts(self.variable, counts, self._values()[0].shape)

    # By name

    def _configuration(self, given: Mapping[str, object]) -> list[Any]:
        names = [p.name for p in self.parents]
        self._check_names("given", given, names)
        absent = [name for name in names if name not in given]
        if absent:
            are = "is" if len(absent) == 1 else "are"
            raise DataError(f"given must name every parent of {self.variable.name!r}; {listed(absent)} {are} missing.")
        return [self._value_of(p, given[p.name]) for p in self.parents]

    def _value_of(self, parent: Variable, given: object) -> Any:
        return parent.code(given)

    def _fixed(self, codes: Mapping[str, int]) -> dict[int, int]:
        """Return the position and the code of each fixed parent."""
        names = [p.name for p in self.parents]
        self._check_names("codes", codes, names)
        return {names.index(name): _as_code(self.parents[names.index(name)], code) for name, code in codes.items()}

    def _check_names(self, what: str, given: object, names: Sequence[str]) -> None:
        if not isinstance(given, Mapping):
            raise DataError(f"{what} must be a mapping by parent; got {shortened(repr(given))}.")
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names) if names else "It has no parents."
                message = f"{what} must name parents of {self.variable.name!r}; got {name!r}. {hint}"
                raise UnknownVariableError(message, parameter=what)

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalTable):
            return NotImplemented
        if type(self) is not type(other) or (self.variable, self.parents) != (other.variable, other.parents):
            return False
        return all(map(np.array_equal, self._values(), other._values()))

    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():  # pickling loses the read-only flag
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    locked(array)
        self.__dict__.update(state)

    # Display

    def _size(self) -> str:
        return counted(self.n_configurations, "row")

    def _listed(self, n: int) -> list[list[object]]:
        """Return the first n rows, each after its parents' states."""
        codes = configuration_codes(np.arange(n), self.shape[:-1])
        return labelled(self.parents, codes, self._rows(codes))

    def _shown(self) -> tuple[list[list[object]], int]:
        """Return the rows to display, and how many more there are."""
        n = min(self.n_configurations, SHOWN_ROWS)
        return self._listed(n), self.n_configurations - n

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each configuration: the parents' states, then the probabilities.

        :func:`as_cpt` accepts such a frame.
        """
        import pandas

        n_bytes = 100 * self.n_configurations * len(self._header())
        check_memory(f"the frame of {self.variable.name!r}", n_bytes, ways_out=_WAYS_OUT)
        return pandas.DataFrame(self._listed(self.n_configurations), columns=self._header())

    def _title(self) -> str:
        given = ", ".join(p.name for p in self.parents)
        return f"{self.variable.name} given {given}" if given else self.variable.name

    def _header(self) -> list[object]:
        return [*(p.name for p in self.parents), *(self.variable.states or ())]

    def __repr__(self) -> str:
        parents = f" | {listed(p.name for p in self.parents)}" if self.parents else ""
        size = f"{self._size()} of {counted(self.variable.n_states, 'state')}"
        return f"{type(self).__name__}({self.variable.name!r}{parents}: {size})"

    def __str__(self) -> str:
        rows, n_more = self._shown()
        more = f"\n… and {counted(n_more, 'more row')}" if n_more else ""
        return f"{self._title()}\n{text_grid(self._header(), rows)}{more}"

    def _repr_html_(self) -> str:
        rows, n_more = self._shown()
        more = f" (the first {len(rows)} of {counted(len(rows) + n_more, 'row')})" if n_more else ""
        return html_grid(self._header(), rows, caption=self._title() + more)


# Checks


def check_network(
    name: str, cpts: Sequence[ConditionalTable], properties: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Raise unless tables fit together into one joint distribution: distinct variables, known parents, no cycle.

    Parameters
    ----------
    name : str
        The name of the network.
    cpts : sequence of ConditionalTable
        Its tables.
    properties : mapping of str to sequence of str, optional
        The properties of variables by name, and of the network under "".
    """
    if not isinstance(name, str):
        raise DataError(f"the name of a network must be a string; got {name!r}.", parameter="name")
    known: dict[str, Variable] = {}
    for cpt in cpts:
        if not isinstance(cpt, ConditionalTable):
            raise DataError(f"the tables of a network must be conditional tables; got {type(cpt).__name__}.")
        if cpt.variable.name in known:
            raise DataError(f"the variables of a network must have distinct names; got {cpt.variable.name!r} twice.")
        known[cpt.variable.name] = cpt.variable
    for cpt in cpts:
        _check_parents(cpt, known)
    if cycle := named_cycle({cpt.variable.name: [p.name for p in cpt.parents] for cpt in cpts}):
        raise DataError(f"the arcs must not form a cycle; got {joined(cycle)}.")
    for owner, lines in (properties or {}).items():
        if owner not in known and owner != "":
            hint = did_you_mean(owner, known)
            raise DataError(f"properties must be of variables or of the network (''); got {owner!r}. {hint}")
        if not all(isinstance(line, str) for line in lines):
            raise DataError(f"the properties of {owner!r} must be strings; got {listed(lines)}.")


def _check_parents(cpt: ConditionalTable, known: Mapping[str, Variable]) -> None:
    for parent in cpt.parents:
        if parent.name not in known:
            hint = did_you_mean(parent.name, known)
            raise DataError(f"the parents of {cpt.variable.name!r} must be variables; got {parent.name!r}. {hint}")
        if parent is not known[parent.name] and parent != known[parent.name]:
            what = f"the parent {parent.name!r} of {cpt.variable.name!r}"
            raise DataError(f"{what} must have the states of that variable; got {listed(parent.states or ())}.")


def labelled(parents: Sequence[Variable], codes: np.ndarray, rows: np.ndarray) -> list[list[object]]:
    """Return rows for a grid: the parents' states, then the probabilities."""
    return [
        [*((p.states or ())[c] for p, c in zip(parents, line, strict=True)), *row.tolist()]
        for line, row in zip(codes.tolist(), rows, strict=True)
    ]


def _as_code(parent: Variable, code: SupportsIndex) -> int:
    try:
        number = operator.index(code)
    except TypeError:
        number = -1
    if not 0 <= number < parent.n_states:
        rule = f"a code from 0 to {parent.n_states - 1}"
        raise DataError(f"the code of {parent.name!r} must be {rule}; got {shortened(repr(code))}.")
    return number
