"""Tunbridge: Bayesian learning for Python.

``import tunbridge as tb`` costs next to nothing: every public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tunbridge._version import __version__

_WHERE = {
    "Table": "tunbridge.data",
    "Variable": "tunbridge.data",
    "as_table": "tunbridge.data",
}

__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'tunbridge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from tunbridge.data import Table as Table
    from tunbridge.data import Variable as Variable
    from tunbridge.data import as_table as as_table
