"""The answers of dynamic networks: a distribution for every slice, and the most probable states of all slices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tunbridge._core.check import did_you_mean
from tunbridge._core.grid import data_frame, html_grid, probability_text, text_grid
from tunbridge.data import Variable
from tunbridge.errors import UnknownVariableError
from tunbridge.probability import Distribution, Mixture

if TYPE_CHECKING:
    import pandas

_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class SlicePosteriors(Sequence[Any]):
    """The distribution of a variable, or the joint one of several, in each slice: a sequence of distributions.

    Attributes
    ----------
    variables : tuple of Variable
        The variable or variables.
    array : ndarray of shape (n_slices, *numbers of states)
        The probabilities; of a continuous variable the mean and the variance, of shape (n_slices, 2).
    log_likelihood : float
        ln P(evidence), or its density where continuous variables are observed.
    method : str
        How it was computed: ``"exact"``, ``"boyen-koller"`` or ``"particle"``.
    standard_errors : ndarray, optional
        Those of the probabilities, or of the means, where particles were used.
    effective_sizes : ndarray of shape (n_slices,), optional
        The effective number of particles.
    start : int
        The number of the first slice.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.temporal.dynamic import DynamicBayesianNetwork
    >>> sky = DynamicBayesianNetwork(
    ...     {"Rain": ["no", "yes"]}, arcs=[("Rain[t-1]", "Rain")], first={"Rain": [0.5, 0.5]},
    ...     cpts={"Rain": [[0.7, 0.3], [0.3, 0.7]]},
    ... )
    >>> sky.filter([{"Rain": "yes"}, {}], "Rain")
    Rain in 2 slices
    slice  no   yes
    0      0    1
    1      0.3  0.7
    """

    variables: tuple[Variable, ...]
    array: np.ndarray
    log_likelihood: float
    method: str = "exact"
    standard_errors: np.ndarray | None = None
    effective_sizes: np.ndarray | None = None
    start: int = 0

    def __post_init__(self) -> None:
        self.array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> SlicePosteriors: ...
    def __getitem__(self, key: Any) -> Any:
        """Return the distribution in a slice (a Mixture of a continuous variable), or those of some slices."""
        if isinstance(key, slice):
            begin = range(len(self))[key]
            errors, sizes = (None if a is None else a[key] for a in (self.standard_errors, self.effective_sizes))
            first = self.start + (begin[0] if len(begin) else 0)
            return SlicePosteriors(
                self.variables, self.array[key], self.log_likelihood, self.method, errors, sizes, first
            )
        line = self.array[key]
        if self.variables[0].is_continuous:
            return Mixture.of_valid(self.variables[0], np.ones(1), line[:1], np.maximum(line[1:], 0.0))
        errors = None if self.standard_errors is None else self.standard_errors[key]
        return Distribution.of_valid(self.variables, line, None, errors)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return ``array``."""
        return np.array(self.array, dtype=dtype, copy=bool(copy) or None)

    def _table(self, most: int | None = None) -> tuple[list[str], list[list[Any]]]:
        """Return a header and a line for each slice."""
        header = ["mean", "std"] if self.variables[0].is_continuous else list(map(_key_text, self._keys()))
        lines = self.array[:most].reshape(-1, math.prod(self.array.shape[1:])).copy()
        if self.variables[0].is_continuous:
            lines[:, 1] = np.sqrt(np.maximum(lines[:, 1], 0.0))
        return ["slice", *header], [[self.start + t, *line] for t, line in enumerate(lines.tolist())]

    def _keys(self) -> list[Any]:
        return list(Distribution.of_locked(self.variables, np.empty(self.array.shape[1:])))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a line for each slice."""
        header, lines = self._table()
        return data_frame({name: [line[i] for line in lines] for i, name in enumerate(header)})

    def _title(self) -> str:
        how = "" if self.method == "exact" else f", method {self.method}"
        return f"{', '.join(v.name for v in self.variables)} in {len(self)} slices{how}"

    def _shown(self) -> tuple[list[str], list[list[object]], str]:
        header, lines = self._table(_SHOWN)
        text = (lambda x: f"{x:.6g}") if self.variables[0].is_continuous else probability_text
        rows: list[list[object]] = [[line[0], *map(text, line[1:])] for line in lines]
        return header, rows, f"… {len(self)} in all" if len(self) > _SHOWN else ""

    def __repr__(self) -> str:
        header, rows, more = self._shown()
        return f"{self._title()}\n{text_grid(header, rows)}{more and chr(10) + more}"

    def _repr_html_(self) -> str:
        header, rows, more = self._shown()
        return html_grid(header, rows, caption=self._title() + (more and f" ({more})"))


def _key_text(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


@dataclass(frozen=True, eq=False, repr=False)
class MostProbableSlices(Sequence[Mapping[str, Any]]):
    """The jointly most probable states of all variables in all slices: a sequence with a dict for each slice.

    Attributes
    ----------
    columns : dict of str to list
        The states of each variable, slice by slice.
    log_probability : float
        The natural logarithm of the probability of these states and the evidence together.
    log_likelihood : float
        That of the evidence; the difference is the logarithm of the probability of the states given the evidence.
    """

    columns: dict[str, list[Any]]
    log_probability: float
    log_likelihood: float

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key: Any) -> Any:
        """Return the states of a slice as a dict, those of some slices, or those of a variable as a list."""
        if isinstance(key, str):
            if key not in self.columns:
                hint = did_you_mean(key, self.columns)
                raise UnknownVariableError(f"{key!r} must be a variable of the network. {hint}")
            return self.columns[key]
        if isinstance(key, slice):
            return [self[i] for i in range(len(self))[key]]
        return {name: states[key] for name, states in self.columns.items()}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a line for each slice."""
        return data_frame({"slice": list(range(len(self))), **self.columns})

    def __repr__(self) -> str:
        n = min(len(self), _SHOWN)
        rows: list[list[object]] = [[t, *(states[t] for states in self.columns.values())] for t in range(n)]
        more = f"\n… {len(self)} in all" if len(self) > n else ""
        grid = text_grid(["slice", *self.columns], rows)
        return f"{grid}{more}\nlog-probability {self.log_probability:.6g}"
