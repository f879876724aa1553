"""Networks: a graph and its conditional tables, validated, with one-line doors to inference, learning and files."""

from typing import Any

from tunbridge.network.classics import example_network
from tunbridge.network.network import BayesianNetwork, arriving, read_network

__all__ = ["BayesianNetwork", "example_network", "read_network"]

_MOVED = ("DriftMonitor", "DriftSignal", "NetworkUpdate", "merge_networks", "update_network")


def __getattr__(name: str) -> Any:
    """Return a name that has moved to :mod:`tunbridge.learning`; it stays here for one version."""
    if name in _MOVED:
        return getattr(arriving(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
