"""Data: variables, tables, readers, discretisers and the small classic example sets."""

from tunbridge.data.columns import Column, Kind
from tunbridge.data.frames import as_table, encode
from tunbridge.data.table import Table
from tunbridge.data.variable import MISSING, State, Variable

__all__ = ["MISSING", "Column", "Kind", "State", "Table", "Variable", "as_table", "encode"]
