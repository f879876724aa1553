"""A density given by a function.

What a function is must be found out: it is called with arrays, or point by point if it does not take them; it must be
nowhere negative, and its integral over its support must be one. The integral is taken when the density is made, and the
panels that were needed for it show where the function varies: they are the grid on which boundaries are looked for.
On an infinite support the panels widen with the distance from 0, or from the finite end, up to 10¹⁷.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.regions.densities import as_points
from tunbridge.reasoning.regions.integration import Integral, integrate, panel_nodes, panel_sums

_FAR = 40.0  # sinh(40) is 10¹⁷
_OFF_LINE, _OFF_PLANE = 1e-4, 1e-3
_PLANE_PANELS = 24
_HINT = "Give a support that is nearer to where the density lies."


@final
@dataclass(frozen=True, eq=False, repr=False)
class Density:
    """A density given by a function, on an interval or in a rectangle.

    Parameters
    ----------
    function : callable
        p(x), or p(x, y) in the plane: of numbers, or of arrays, which is faster. It must integrate to one over the
        support, within 1e-4 (1e-3 in the plane).
    support : (low, high), or ((low, high), (low, high))
        Where the density may be above 0; outside it counts as 0. On the line the ends may be infinite.

    Examples
    --------
    >>> triangle = Density(lambda x: 1 - abs(x), (-1, 1))
    >>> triangle.pdf([-2.0, 0.25]).tolist(), round(triangle.probability(0.5, 1.0), 12)
    ([0.0, 0.75], 0.125)
    >>> Density(lambda x: x, (0, 1))
    Traceback (most recent call last):
    tunbridge.errors.DataError: a density must integrate to one over its support; got 0.5. Divide it by that.
    """

    function: Callable[..., Any]
    support: tuple[Any, Any]
    _vectorised: bool = field(default=True, init=False)
    _total: Integral = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError(f"a density must be given by a function; got {shortened(repr(self.function))}.")
        self.__dict__.update(support=_support(self.support))
        self.__dict__.update(_vectorised=self._takes_arrays())
        total = self._integral() if self.n_dimensions == 1 else self._plane_integral()
        self.__dict__.update(_total=total)
        self._check_total(float(total.value), total.error)

    @property
    def n_dimensions(self) -> int:
        """1 or 2."""
        return 1 if isinstance(self.support[0], float) else 2

    @property
    def precision(self) -> float:
        """How far probabilities may be off, by estimate; the integral over the support may not be one either."""
        return self._total.error + abs(float(self._total.value) - 1.0)

    def pdf(self, x: Any) -> Any:
        """Return the density at a point, or at each of an array of points."""
        points = as_points(x, self.n_dimensions)
        found = self._values(points)
        return float(found) if found.ndim == 0 else found

    def log_pdf(self, x: Any) -> Any:
        """Return the natural logarithm of the density; −∞ where it is 0."""
        with np.errstate(divide="ignore"):
            found = np.log(self.pdf(x))
        return float(found) if found.ndim == 0 else found

    def probability(self, low: Any, high: Any) -> Any:
        """Return the probability between low and high, numbers or arrays; for one dimension."""
        ends = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64))
        found = [self._between(a, b) for a, b in zip(*(end.ravel().tolist() for end in ends), strict=True)]
        return np.reshape(found, ends[0].shape) if ends[0].ndim else found[0]

    @property
    def grid(self) -> np.ndarray:
        """Points from end to end of what matters, close together where the density varies; of one dimension."""
        nodes = panel_nodes(self._total.edges[:-1], self._total.edges[1:])
        some = np.flatnonzero(self._values(nodes).max(axis=1) > 0.0)
        first, last = some[0], some[-1] + 1
        return np.union1d(nodes[first:last], self._total.edges[first : last + 1])

    @property
    def panels(self) -> np.ndarray:
        """Values of the first coordinate to start integrals with; of two dimensions."""
        return _steps(self.support[0], _PLANE_PANELS)

    def section_edges(self, x: np.ndarray) -> np.ndarray:
        """Return the same for the second coordinate, given values of the first: an array (n, some)."""
        inside = _steps(self.support[1], _PLANE_PANELS // 2)
        return np.broadcast_to(inside, (len(x), len(inside)))

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Density({name}, support={self.support})"

    # Inside

    def _values(self, points: np.ndarray) -> np.ndarray:
        """Return the density, 0 outside the support; raise where the function gives what no density is."""
        coordinates = [points] if self.n_dimensions == 1 else [points[..., 0], points[..., 1]]
        limits = [self.support] if self.n_dimensions == 1 else self.support
        inside = np.all([(c >= a) & (c <= b) for c, (a, b) in zip(coordinates, limits, strict=True)], axis=0)
        found = np.zeros(inside.shape)
        asked = [c[inside] for c in coordinates]
        if asked[0].size:
            found[inside] = self._called(asked)
        return found

    def _called(self, asked: Sequence[np.ndarray]) -> np.ndarray:
        function = self.function if self._vectorised else np.vectorize(self.function, otypes=[np.float64])
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(function(*asked), np.float64)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                raise DataError(
                    f"a density must be a function of points; calling it gave {shortened(told)}."
                ) from error
        bad = np.flatnonzero(~(values >= 0.0))
        if bad.size:
            at = ", ".join(f"{c[bad[0]]:g}" for c in asked)
            raise DataError(f"a density must be a number of at least 0; got {values[bad[0]]:g} at {at}.")
        return values

    def _takes_arrays(self) -> bool:
        """Return whether the function takes arrays; a function that does not is called for one point at a time."""
        limits = [self.support] if self.n_dimensions == 1 else self.support
        asked = [np.linspace(*_finite(a, b), 5)[1:4] for a, b in limits]
        with np.errstate(all="ignore"):
            try:
                return np.shape(np.asarray(self.function(*asked), np.float64)) == (3,)
            except Exception:
                return False

    def _integral(self) -> Integral:
        low, high = self.support
        if math.isfinite(low) and math.isfinite(high):
            edges = np.linspace(low, high, 33)
        elif math.isfinite(low):
            edges = low + np.sinh(np.linspace(0.0, _FAR, 201))
        elif math.isfinite(high):
            edges = high - np.sinh(np.linspace(_FAR, 0.0, 201))
        else:
            edges = np.sinh(np.linspace(-_FAR, _FAR, 401))
        return integrate(self._values, edges)

    def _plane_integral(self) -> Integral:
        inner = _steps(self.support[1], _PLANE_PANELS)
        low, high = inner[:-1], inner[1:]
        y = panel_nodes(low, high)

        def section(x: np.ndarray) -> np.ndarray:
            points = np.stack(np.broadcast_arrays(x[:, None, None], y), axis=-1)
            return panel_sums(self._values(points), low, high)[0].sum(axis=1)

        return integrate(section, self.panels, tolerance=1e-6, most_panels=8 * _PLANE_PANELS)

    def _check_total(self, total: float, error: float) -> None:
        allowed = (_OFF_LINE if self.n_dimensions == 1 else _OFF_PLANE) + error
        if not abs(total - 1.0) <= allowed:
            hint = "Divide it by that." if 1e-3 < total < 1e6 else _HINT
            raise DataError(f"a density must integrate to one over its support; got {total:g}. {hint}")

    def _between(self, low: float, high: float) -> float:
        edges = self._total.edges
        a, b = max(low, edges[0]), min(high, edges[-1])
        if not a < b:
            return 0.0
        inner = edges[(edges > a) & (edges < b)]
        return float(integrate(self._values, np.array([a, *inner, b])).value)


def _steps(interval: tuple[float, float], n: int) -> np.ndarray:
    return np.linspace(interval[0], interval[1], n + 1)


def _finite(low: float, high: float) -> tuple[float, float]:
    """Return an interval within another one that has both ends."""
    if math.isinf(low) and math.isinf(high):
        return -1.0, 1.0
    return (high - 1.0 if math.isinf(low) else low), (low + 1.0 if math.isinf(high) else high)


def _support(given: Any) -> tuple[Any, Any]:
    try:
        pairs = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        pairs = np.array(np.nan)
    line = pairs.shape == (2,)
    if not (line or pairs.shape == (2, 2)) or not (pairs[..., 0] < pairs[..., 1]).all():
        rule = "must be (low, high) with low < high, or two such pairs for a density in the plane"
        raise DataError(f"the support {rule}; got {shortened(repr(given))}.")
    if not line and not np.isfinite(pairs).all():
        raise DataError(f"the support of a density in the plane must be finite; got {shortened(repr(given))}.")
    found = [tuple(map(float, pair)) for pair in pairs.tolist()] if not line else pairs.tolist()
    return found[0], found[1]
