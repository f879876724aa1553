from tunbridge.data.arrow import Frame as Frame, Values as Values
from tunbridge.data.columns import Column as Column, Kind as Kind
from tunbridge.data.dates import with_date_parts as with_date_parts
from tunbridge.data.discretisation import (
    Discretisation as Discretisation,
    at_cuts as at_cuts,
    discretise as discretise,
    equal_frequency as equal_frequency,
    equal_width as equal_width,
    mdl_cuts as mdl_cuts,
)
from tunbridge.data.frames import as_table as as_table, encode as encode, with_indicators as with_indicators
from tunbridge.data.readers import read_table as read_table
from tunbridge.data.table import Table as Table
from tunbridge.data.variable import MISSING as MISSING, State as State, Variable as Variable
