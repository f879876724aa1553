"""A distribution over the states of one variable, or over the joint states of several: the result of every query.

It is an immutable mapping from states to probabilities with its mode, its entropy

    H = −Σ p ln p     (in nats)

and, if known, the uncertainty of each probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat, final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import check_known, check_number, did_you_mean, listed, shortened
from tunbridge._core.grid import html_grid, probability_text, text_grid
from tunbridge.data import Variable
from tunbridge.data.columns import Column, column_to_arrow, state_type
from tunbridge.errors import DataError, UnknownStateError, UnknownVariableError
from tunbridge.probability.reading import TOLERANCE, as_float, as_floats

if TYPE_CHECKING:
    import pandas

_SHOWN = 20
_set = object.__setattr__


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Distribution(Mapping[Any, float]):
    """An immutable mapping from states to probabilities.

    Parameters
    ----------
    variables : Variable or sequence of Variable
        The keys of one variable are its states, those of several are tuples of states.
    probabilities : mapping or array-like
        By key (missing keys have probability 0), or an array with one axis for each variable. They must be ≥ 0 and sum
        to one within 1e-6; they are then rescaled.
    interval : mapping of key to (low, high), or array-like of shape (…, 2), optional
        An interval for every probability.
    standard_errors : mapping of key to float, or array-like, optional
        The standard error of every probability.

    Examples
    --------
    >>> sky = Distribution(Variable("Sky", ["clear", "cloudy", "grey"]), [0.5, 0.3, 0.2])
    >>> sky
    Sky
    clear   0.5
    cloudy  0.3
    grey    0.2
    >>> sky["cloudy"], sky.mode, round(sky.entropy, 4)
    (0.3, 'clear', 1.0297)
    >>> sky.expected({"clear": 0, "cloudy": 0, "grey": 10})
    2.0
    """

    variables: tuple[Variable, ...]
    probabilities: np.ndarray
    _interval: np.ndarray | None = None
    _errors: np.ndarray | None = None

    def __init__(
        self,
        variables: Variable | Sequence[Variable],
        probabilities: ArrayLike | Sequence[SupportsFloat] | Mapping[Any, float],
        *,
        interval: ArrayLike | Mapping[Any, Sequence[float]] | None = None,
        standard_errors: ArrayLike | Mapping[Any, float] | None = None,
    ) -> None:
        family = _checked_variables(variables)
        self.__dict__.update(variables=family, _interval=None, _errors=None)
        self.__dict__.update(probabilities=self._checked(self._array("probabilities", probabilities, absent=0.0)))
        bounds = None if interval is None else self._array("interval", interval, width=2)
        errors = None if standard_errors is None else self._array("standard_errors", standard_errors)
        self.__dict__.update(_interval=bounds, _errors=errors)
        self._lock()

    @classmethod
    def of_valid(
        cls,
        variables: tuple[Variable, ...],
        array: np.ndarray,
        interval: np.ndarray | None = None,
        errors: np.ndarray | None = None,
    ) -> Distribution:
        """Return the distribution of a valid array, without checks; it is made read-only, not copied."""
        array.setflags(write=False)
        self = cls.of_locked(variables, array)
        if interval is not None or errors is not None:
            self.__dict__.update(_interval=interval, _errors=errors)
        return self

    @classmethod
    def of_locked(cls, variables: tuple[Variable, ...], array: np.ndarray) -> Distribution:
        """Return the distribution of a valid read-only array, as fast as possible."""
        self = object.__new__(cls)
        _set(self, "variables", variables)
        _set(self, "probabilities", array)
        return self

    # A mapping

    def __getitem__(self, key: object) -> float:
        return float(self.probabilities[self._index(key)])

    def __iter__(self) -> Iterator[Any]:
        states = [v.states or () for v in self.variables]
        return iter(states[0]) if len(states) == 1 else itertools.product(*states)

    def __len__(self) -> int:
        return int(self.probabilities.size)

    def _index(self, key: object) -> tuple[int, ...]:
        """Return the codes of a key."""
        parts = (key,) if len(self.variables) == 1 else key
        if not isinstance(parts, tuple) or len(parts) != len(self.variables):
            names = listed(v.name for v in self.variables)
            raise UnknownStateError(f"the key must be a tuple with a state of each of {names}; got {key!r}.")
        codes = tuple(v.find(state) for v, state in zip(self.variables, parts, strict=True))
        if min(codes, default=0) < 0:
            i = codes.index(-1)
            v = self.variables[i]
            hint = did_you_mean(parts[i], v.states or ())
            raise UnknownStateError(f"the key must be a state of {v.name!r}; got {parts[i]!r}. {hint}")
        return codes

    def _key(self, i: int) -> Any:
        """Return the key of a cell by its number."""
        if len(self.variables) == 1:
            return (self.variables[0].states or ())[i]
        codes = np.unravel_index(i, self.probabilities.shape)
        return tuple((v.states or ())[int(c)] for v, c in zip(self.variables, codes, strict=True))

    # Results

    @property
    def mode(self) -> Any:
        """The most probable state (a tuple of states for several variables); the first of equal ones."""
        return self._key(int(self.probabilities.argmax()))

    @property
    def entropy(self) -> float:
        """The entropy in nats: 0 if one state is certain, ln n if all n are equal."""
        p = self.probabilities[self.probabilities > 0.0]
        return max(0.0, float(-(p * np.log(p)).sum()))

    @property
    def interval(self) -> dict[Any, tuple[float, float]] | None:
        """The ends of the interval of each state; None without intervals."""
        if self._interval is None:
            return None
        pairs = self._interval.reshape(-1, 2).tolist()
        return {key: (low, high) for key, (low, high) in zip(self, pairs, strict=True)}

    @property
    def standard_errors(self) -> dict[Any, float] | None:
        """The standard error of the probability of each state; None without standard errors."""
        return None if self._errors is None else dict(zip(self, self._errors.ravel().tolist(), strict=True))

    def top(self, k: int = 3) -> list[tuple[Any, float]]:
        """Return the k most probable states with their probabilities, the earlier of equal ones first."""
        flat = self.probabilities.ravel()
        best = np.argsort(-flat, kind="stable")[: int(check_number("k", k, low=0))]
        return [(self._key(i), float(flat[i])) for i in best.tolist()]

    def marginal(self, names: str | Iterable[str]) -> Distribution:
        """Return the distribution of some of the variables, in the order of the names."""
        wanted = [names] if isinstance(names, str) else list(names)
        known = [v.name for v in self.variables]
        check_known("names must be variables of the distribution", wanted, known, UnknownVariableError)
        if len(set(wanted)) < len(wanted) or not wanted:
            raise DataError(f"names must be distinct and not empty; got {listed(wanted)}.", parameter="names")
        axes = [known.index(name) for name in wanted]
        rest = tuple(i for i in range(len(known)) if i not in axes)
        order = np.argsort(np.argsort(axes))
        summed = self.probabilities.sum(axis=rest)
        kept = np.moveaxis(summed, list(order), list(range(len(axes))))
        return Distribution.of_valid(tuple(self.variables[i] for i in axes), np.array(kept, order="C"))

    def expected(self, values: Mapping[Any, float] | Callable[[Any], float] | Sequence[float] | None = None) -> float:
        """Return the expected value Σ p(state) value(state).

        Parameters
        ----------
        values : mapping of key to number, function of a key, or array-like; optional
            The value of each state; default: the states themselves, which must then be numbers.
        """
        if values is not None and not isinstance(values, Mapping) and not callable(values):
            array = self._array("values", values)
            if not np.isfinite(array).all():
                raise DataError(f"values must be finite; got {array[~np.isfinite(array)][0]:g}.")
            return float((self.probabilities * array).sum())
        function = values if callable(values) else (lambda key: key) if values is None else self._value_in(values)
        numbers = [check_number(f"the value of {key!r}", function(key)) for key in self]
        return float(self.probabilities.ravel() @ numbers)

    def _value_in(self, values: Mapping[Any, float]) -> Callable[[Any], float]:
        known = {self._index(key): value for key, value in values.items()}

        def value(key: object) -> float:
            codes = self._index(key)
            if codes not in known:
                raise DataError(f"values must have a value for every state; {key!r} has none.", parameter="values")
            return known[codes]

        return value

    def to_dict(self) -> dict[Any, float]:
        """Return the probabilities as a dict from states (tuples of states for several variables)."""
        return dict(zip(self, self.probabilities.ravel().tolist(), strict=True))

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow.Table: a column for each variable, ``probability``, and intervals and errors if known."""
        codes = np.unravel_index(np.arange(self.probabilities.size), self.probabilities.shape)
        parts = zip(self.variables, codes, strict=True)
        columns = [column_to_arrow(Column(v, c, state_type(v))) for v, c in parts]
        extra = self._extra_columns()
        names = [*(v.name for v in self.variables), *extra]
        return pa.table([*columns, *map(pa.array, extra.values())], names=names)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with the columns of :meth:`to_arrow`."""
        return self.to_arrow().to_pandas()

    def _extra_columns(self) -> dict[str, np.ndarray]:
        columns = {"probability": self.probabilities.ravel()}
        if self._interval is not None:
            columns |= {"low": self._interval[..., 0].ravel(), "high": self._interval[..., 1].ravel()}
        return columns if self._errors is None else columns | {"standard_error": self._errors.ravel()}

    # As an object

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Distribution):
            return self.variables == other.variables and np.array_equal(self.probabilities, other.probabilities)
        return Mapping.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock()

    def _lock(self) -> None:
        for array in (self.probabilities, self._interval, self._errors):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        header, rows, more = self._shown()
        return f"{text_grid(header, rows)}{more and chr(10) + more}"

    def _repr_html_(self) -> str:
        header, rows, more = self._shown()
        names = ", ".join(v.name for v in self.variables)
        return html_grid(header, rows, caption=f"{names}{more and ' (' + more + ')'}")

    def _shown(self) -> tuple[list[object], list[list[object]], str]:
        """Return header and rows of the states, or of the most probable ones if there are many."""
        cells = range(len(self)) if len(self) <= _SHOWN else np.argsort(-self.probabilities.ravel(), kind="stable")
        shown = [int(i) for i in cells[:_SHOWN]]
        more = f"… the {_SHOWN} most probable of {len(self)}" if len(self) > _SHOWN else ""
        header, columns = self._shown_columns(shown)
        keys = [self._key(i) if len(self.variables) > 1 else (self._key(i),) for i in shown]
        names: list[object] = [v.name for v in self.variables]
        return [*names, *header], [[*key, *line] for key, line in zip(keys, columns, strict=True)], more

    def _shown_columns(self, cells: list[int]) -> tuple[list[object], list[list[object]]]:
        header: list[object] = [""]
        lines: list[list[object]] = [[float(self.probabilities.flat[i])] for i in cells]
        if self._errors is not None:
            header.append("")
            lines = [[*line, f"± {self._errors.flat[i]:.2g}"] for line, i in zip(lines, cells, strict=True)]
        if self._interval is not None:
            header.append("")
            ends = self._interval.reshape(-1, 2)[cells].tolist()
            texts = [f"{probability_text(low)} … {probability_text(high)}" for low, high in ends]
            lines = [[*line, text] for line, text in zip(lines, texts, strict=True)]
        return header, lines

    # Checks

    def _array(self, what: str, values: object, *, absent: float | None = None, width: int | None = None) -> np.ndarray:
        """Return values by key or position as a new array with an axis for each variable, and one of this width."""
        shape = tuple(v.n_states for v in self.variables) + (() if width is None else (width,))
        if isinstance(values, Mapping):
            return self._from_mapping(what, values, shape, absent)
        array = as_floats(what, values)
        if array.shape != shape:
            raise DataError(f"{what} must have the shape {shape}; got {array.shape}.")
        return array

    def _from_mapping(
        self, what: str, values: Mapping[Any, Any], shape: tuple[int, ...], absent: float | None
    ) -> np.ndarray:
        """Return values by key as an array; a missing key has the value ``absent``, or raises an error without it."""
        array, inner = np.full(shape, np.nan if absent is None else absent), shape[len(self.variables) :]
        seen = np.zeros(shape[: len(self.variables)], bool)
        for key, value in values.items():
            codes = self._index(key)
            found = np.array(as_float(what, value)) if not inner else as_floats(what, value)
            if found.shape != inner:
                raise DataError(f"{what} must have {inner[0]} numbers for each state; got {shortened(repr(value))}.")
            array[codes], seen[codes] = found, True
        if absent is None and not seen.all():
            raise DataError(f"{what} must name every state; {self._key(int(seen.argmin()))!r} is missing.")
        return array

    def _checked(self, array: np.ndarray) -> np.ndarray:
        names = listed(v.name for v in self.variables)
        if not (np.isfinite(array).all() and array.min() >= 0.0):
            bad = array[~(np.isfinite(array) & (array >= 0.0))][0]
            raise DataError(f"the probabilities of {names} must be finite and at least 0; got {bad:g}.")
        with np.errstate(over="ignore"):
            total = float(array.sum())
        if not abs(total - 1.0) <= TOLERANCE:
            hint = " They look like percentages: divide them by 100." if abs(total - 100.0) < 0.1 else ""
            raise DataError(f"the probabilities of {names} must sum to 1; got {total:.10g}.{hint}")
        return array if math.isclose(total, 1.0, rel_tol=array.size * 2.0**-52) else array / total


def _checked_variables(variables: Variable | Iterable[Variable]) -> tuple[Variable, ...]:
    family = (variables,) if isinstance(variables, Variable) else tuple(variables)
    for v in family:
        if not isinstance(v, Variable) or not v.states:
            raise DataError(f"the variables of a distribution must be Variables with states; got {v!r}.")
    if not family or len({v.name for v in family}) < len(family):
        raise DataError(f"the variables of a distribution must be distinct and not empty; got {listed(family)}.")
    return family
