"""Decisions between known densities by brute force: a fine grid, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def confusion_on_grid(
    pdfs: Sequence[Callable[[np.ndarray], np.ndarray]], prior: Sequence[float], losses: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Return P(choose j | i): the choice of least risk at the middle of each cell of an even grid."""
    width = x[1] - x[0]
    middle = 0.5 * (x[1:] + x[:-1])
    densities = np.array([pdf(middle) for pdf in pdfs])
    choices = (losses.T @ (np.asarray(prior)[:, None] * densities)).argmin(axis=0)
    chosen = choices == np.arange(losses.shape[1])[:, None]
    return width * densities @ chosen.T


def confusion_on_plane(
    pdfs: Sequence[Callable[[np.ndarray], np.ndarray]],
    prior: Sequence[float],
    losses: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
) -> np.ndarray:
    """Return P(choose j | i) from the middles of the cells of a grid on the plane."""
    u, v = 0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1])
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    densities = np.array([pdf(points) for pdf in pdfs])
    choices = (losses.T @ (np.asarray(prior)[:, None] * densities)).argmin(axis=0)
    chosen = choices == np.arange(losses.shape[1])[:, None]
    return (x[1] - x[0]) * (y[1] - y[0]) * densities @ chosen.T
