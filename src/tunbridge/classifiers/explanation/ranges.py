"""Where the numbers of a model lie: the places where they are cut, or the range of their densities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge.classifiers.explanation.sampled import sampled_ranges
from tunbridge.classifiers.naive.likelihood import Likelihood
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.data.discretisation import Discretisation

_REACH = 2.0


def cuts_of(model: Any) -> Mapping[int, Discretisation]:
    """Return how the numbers that a model cuts are cut, by their position."""
    if isinstance(model, NetworkModel):
        return {model.columns.categories[i]: cut for i, cut in model.columns.coding.cuts.items()}
    coding = getattr(model, "coding", None)
    return getattr(model if coding is None else coding, "cuts", {})


def ranges_of(model: Any, statistics: Any = None) -> dict[int, tuple[float, float]]:
    """Return between which values nearly all of each number with a density lie, by its position.

    The statistics, where they are known, say how far values were seen. A model that is not known here may answer by a
    method ``ranges()``.
    """
    fitted = getattr(statistics, "fitted", None)
    if fitted is not None:  # an estimator around another one
        return ranges_of(fitted._model, fitted.statistics_)
    if hasattr(model, "ranges"):
        return dict(model.ranges())
    if isinstance(model, NetworkModel):
        return sampled_ranges(model) if model.columns.numbers else {}
    if hasattr(model, "members"):
        return ranges_of_cuts([cuts_of(member) for member in model.members])
    if not isinstance(model, Likelihood):
        return {}
    normal = [j for j, role in enumerate(model.roles) if role == "gaussian"]
    found = dict(zip(normal, _normal_ranges(model, getattr(statistics, "extent", None)), strict=True))
    for j, densities in model.densities.items():
        points = np.concatenate([p.values for p, _ in densities])
        found[j] = (float(points.min()), float(points.max())) if points.size else (0.0, 0.0)
    return {j: (low, high) for j, (low, high) in found.items() if low < high}


def _normal_ranges(model: Likelihood, extent: np.ndarray | None) -> list[tuple[float, float]]:
    """Return two standard deviations about the means of the classes, but nothing beyond the values that were seen."""
    spread = _REACH * np.sqrt(model.gaussian.variance)
    low, high = (model.gaussian.mean - spread).min(axis=0), (model.gaussian.mean + spread).max(axis=0)
    if extent is not None:
        low, high = np.fmax(low, extent[0]), np.fmin(high, extent[1])
    return list(zip(low.tolist(), high.tolist(), strict=True))


def ranges_of_cuts(several: Sequence[Mapping[int, Discretisation]]) -> dict[int, tuple[float, float]]:
    """Return for each number that several models cut in different places where all those places lie, and a bit more."""
    places: dict[int, list[float]] = {}
    for cuts in several:
        for j, cut in cuts.items():
            places.setdefault(j, []).extend(cut.cuts)
    ends = {j: (min(found), max(found)) for j, found in places.items() if found}
    more = {j: 0.05 * ((high - low) or abs(low) or 1.0) for j, (low, high) in ends.items()}
    return {j: (low - more[j], high + more[j]) for j, (low, high) in ends.items()}
