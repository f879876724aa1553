"""What a decision problem is made of, checked: densities, losses, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge._check import check_number, listed, shortened
from tunbridge.decisions.losses import loss_matrix
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.reasoning.regions.density_adapters import AnyDensity, as_density


def class_densities(given: Any) -> dict[Any, AnyDensity]:
    """Return the density of each class; raise unless all have the same number of dimensions."""
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"densities must be a mapping of class to density; got {shortened(repr(given))}.")
    known = {name: as_density(name, density) for name, density in given.items()}
    if None in known:
        raise DataError("a class must have a name; got None, which stands for no decision.")
    sizes = {name: density.n_dimensions for name, density in known.items()}
    if len(set(sizes.values())) > 1:
        one, other = (next(name for name, size in sizes.items() if size == n) for n in (1, 2))
        raise DataError(f"densities must all have one dimension or all two; {one!r} has one and {other!r} has two.")
    return known


def losses_and_choices(
    loss: Any, classes: tuple[Any, ...], actions: Sequence[Any] | None, reject: float | None
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return λ with a column for no decision where that can be chosen, and the choices."""
    matrix = loss_matrix(loss, classes, actions=actions)
    if matrix.ndim != 2:
        raise DataError("the losses must be the same for all points; got some by row.")
    choices = classes if actions is None else (actions,) if isinstance(actions, str) else tuple(actions)
    if reject is not None:
        cost = check_number("the loss of no decision", reject)
        matrix, choices = np.column_stack([matrix, np.full(len(classes), cost)]), (*choices, None)
    matrix.setflags(write=False)
    return matrix, choices


def labels_of(choices: tuple[Any, ...]) -> np.ndarray:
    """Return choices as an array that keeps their types."""
    found = np.array(choices)
    if (
        found.ndim == 1
        and None not in choices
        and [type(label) for label in found.tolist()] == list(map(type, choices))
    ):
        return found
    found = np.empty(len(choices), object)
    found[:] = choices
    return found


def impossible_point(point: np.ndarray) -> ImpossibleEvidenceError:
    """Return the error for a point that no class can have."""
    shown = listed(np.ravel(point).tolist())
    return ImpossibleEvidenceError(
        f"a point must be possible under some class; at {shown} the density of each is 0, or too small for a float.",
        conflict={"x": np.ravel(point).tolist()},
    )
