"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("TUNBRIDGE_BACKGROUND", "0")  # the tests use every core themselves


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the development data; skip where it is absent."""
    folder = Path(os.environ.get("TUNBRIDGE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the development data are not beside the repository")
    return folder


@pytest.fixture
def networkx(monkeypatch):
    """Return networkx; where it is not installed a stand-in with the few methods that conversions use."""
    try:
        import networkx
    except ImportError:
        networkx = ModuleType("networkx")
        networkx.DiGraph = type("DiGraph", (_Graph,), {"is_directed": lambda self: True})
        networkx.Graph = type("Graph", (_Graph,), {"is_directed": lambda self: False})
        monkeypatch.setitem(sys.modules, "networkx", networkx)
    return networkx


class _Graph(SimpleNamespace):
    def __init__(self):
        super().__init__(nodes={}, edges=[], graph={})

    def add_nodes_from(self, names):
        self.nodes.update({name: {} for name in names})

    def add_edges_from(self, pairs):
        self.edges.extend(pairs)
