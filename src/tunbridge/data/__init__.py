"""Data: variables, tables, readers, discretisers and the small classic example sets."""

from tunbridge.data.arrow import Frame, Values
from tunbridge.data.columns import Column, Kind
from tunbridge.data.discretisation import (
    Discretisation,
    at_cuts,
    discretise,
    equal_frequency,
    equal_width,
    mdl_cuts,
)
from tunbridge.data.frames import as_table, encode, with_indicators
from tunbridge.data.readers import read_table
from tunbridge.data.table import Table
from tunbridge.data.variable import MISSING, State, Variable

__all__ = [
    "MISSING",
    "Column",
    "Discretisation",
    "Frame",
    "Kind",
    "State",
    "Table",
    "Values",
    "Variable",
    "as_table",
    "at_cuts",
    "discretise",
    "encode",
    "equal_frequency",
    "equal_width",
    "mdl_cuts",
    "read_table",
    "with_indicators",
]
