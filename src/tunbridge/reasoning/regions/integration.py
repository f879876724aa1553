"""Integrals of several functions at once, to a stated accuracy and with an estimate of the error.

An interval is cut into panels. On each of them the integral is a weighted sum of 15 values (Kronrod's rule), and seven
of these values give a second, rougher one (Gauss's): how far the two are apart tells how good the better one is.
A jump beside the end of a panel would escape both, so the ends are looked at too: there the polynomial through the 15
values must continue. Panels where one thing or the other is amiss are halved, and their halves again, until all errors
together are small enough. A kink or a jump is thus closed in on, and smooth stretches cost next to nothing. All panels
of a round are computed together, so that the functions see long arrays.

References
----------
R. Piessens, E. de Doncker-Kapenga, C. Überhuber, D. Kahaner (1983). QUADPACK: A subroutine package for automatic
integration. Springer; the rule and its error estimate are those of its routine QK15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_HALF = (
    (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
    (0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082),
    (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
    (0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780),
    (0.586087235467691130294144691693840, 0.169004726639267902826583426598550, 0.0),
    (0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975),
    (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
)
_KRONROD_NODES = np.array([*(-x for x, _, _ in _HALF), 0.0, *(x for x, _, _ in reversed(_HALF))])
_KRONROD = np.array([*(k for _, k, _ in _HALF), 0.209482141084727828012999174891714, *(k for _, k, _ in _HALF[::-1])])
_GAUSS = np.array([*(g for _, _, g in _HALF), 0.417959183673469387755102040816327, *(g for _, _, g in _HALF[::-1])])
_END = 1.0 - 1e-9
_NODES = np.array([-_END, *_KRONROD_NODES, _END])
_UNSEEN = 1.0 - _HALF[0][0]
_ROUNDING = 50.0 * 2.0**-52
_NARROWEST = 1e-13
_AT_ONCE = 600


def _continuation(nodes: np.ndarray, x: float) -> np.ndarray:
    """Return the weights by which values at nodes make up the polynomial through them at x (Lagrange's)."""
    apart = nodes[:, None] - nodes
    np.fill_diagonal(apart, 1.0)
    others = np.where(np.eye(len(nodes), dtype=bool), 1.0, x - nodes)
    return np.prod(others / apart, axis=1)


_BEFORE = _continuation(_KRONROD_NODES, -_END)

TOLERANCE = 1e-11
"""The error that integrals of probabilities are taken to, where that can be reached."""


@dataclass(frozen=True, eq=False)
class Integral:
    """Integrals, an estimate of their error, and the panels they were computed on.

    Parameters
    ----------
    value : ndarray
        The integral of each function.
    error : float
        What the errors of all of them together are estimated to be, at most.
    edges : ndarray
        The ends of the panels: close together where the functions vary, far apart where they do not.
    """

    value: np.ndarray
    error: float
    edges: np.ndarray


def integrate(
    function: Callable[[np.ndarray], np.ndarray],
    edges: np.ndarray,
    *,
    tolerance: float = TOLERANCE,
    most_panels: int = 2000,
) -> Integral:
    """Return the integrals of functions from the first edge to the last.

    Parameters
    ----------
    function : callable
        Takes points, an array of shape (n,), and returns an array of shape (n, …): the values of all functions.
    edges : ndarray
        The ends of the panels to start with, increasing. Known kinks and jumps should be among them.
    tolerance : float
        Panels are halved until the estimated errors sum to at most this,
    most_panels : int
        or until there are this many of them; then the error that is reported is larger than the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> found = integrate(lambda x: np.sqrt(np.abs(x)), np.array([-1.0, 2.0]))
    >>> round(float(found.value), 9), found.error < 1e-10
    (2.55228475, True)
    """
    low, high = edges[:-1], edges[1:]
    narrowest = _NARROWEST * (edges[-1] - edges[0])
    values, errors = _in_parts(function, low, high)
    while errors.sum() > tolerance and len(low) < most_panels:
        split = (errors > 0.5 * tolerance / len(low)) & (high - low > narrowest)
        if not split.any():
            break
        middle = 0.5 * (low[split] + high[split])
        lows, highs = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
        found, doubt = _in_parts(function, lows, highs)
        low, high = np.concatenate([low[~split], lows]), np.concatenate([high[~split], highs])
        values, errors = np.concatenate([values[~split], found]), np.concatenate([errors[~split], doubt])
    order = np.argsort(low, kind="stable")
    return Integral(values[order].sum(axis=0), float(errors.sum()), np.append(low[order], edges[-1]))


def panel_nodes(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the 15 points of each panel at which functions are needed, and its ends, on a last axis."""
    return 0.5 * (low + high)[..., None] + (0.5 * (high - low))[..., None] * _NODES


def panel_sums(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the integral over each panel, and its estimated error, from the values at its points on the last axis."""
    half, inner = 0.5 * (high - low), values[..., 1:-1]
    found = inner @ _KRONROD
    rough = np.abs(found - inner @ _GAUSS) * half
    varying = np.abs(inner - 0.5 * found[..., None]) @ _KRONROD * half
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.where(varying > 0.0, varying * np.minimum(1.0, (200.0 * rough / varying) ** 1.5), 0.0)
    beside = np.abs(values[..., 0] - inner @ _BEFORE) + np.abs(values[..., -1] - inner @ _BEFORE[::-1])
    rounding = _ROUNDING * (np.abs(inner) @ _KRONROD) * half
    return found * half, np.maximum(estimate, rounding) + _UNSEEN * half * beside


def _in_parts(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the integrals over panels and the error of each, so many panels at a time as fit into little memory."""
    parts = [slice(i, i + _AT_ONCE) for i in range(0, len(low), _AT_ONCE)]
    found = [_panels(function, low[part], high[part]) for part in parts]
    return np.concatenate([value for value, _ in found]), np.concatenate([error for _, error in found])


def _panels(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    at = panel_nodes(low, high)
    values = function(at.ravel())
    values = np.moveaxis(values.reshape(at.shape + values.shape[1:]), 1, -1)
    shape = (len(low),) + (1,) * (values.ndim - 2)
    found, errors = panel_sums(values, low.reshape(shape), high.reshape(shape))
    return found, errors.reshape(len(low), -1).sum(axis=1)
