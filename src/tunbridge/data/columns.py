"""One column, from whatever it came as to codes or floats, and back.

The rules by which a column's kind is inferred, in order:

1. text, truth values and categoricals (pandas, polars, Arrow dictionaries) are **categorical**;
2. floating-point and decimal numbers, dates, times and durations are **continuous**;
3. whole numbers are **continuous**, unless they have at most two distinct values or do not fit a double exactly
   (|x| > 2⁵³): then they are **categorical**;
4. a column in which every cell is missing is **categorical** without states.

``kind`` overrides the rules. The states of text and numbers are sorted, so that the order of the rows does not matter;
those of a categorical keep the order they came in.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import check_choice, listed
from tunbridge.data.variable import MISSING, State, Variable
from tunbridge.errors import DataError

Kind = Literal["categorical", "continuous"]
KINDS = ("categorical", "continuous")

_EXACT = 2**53
_NARROW_RANGE = 2**16


class Column(NamedTuple):
    """A variable, its codes or floats, and the Arrow type that gives the values back."""

    variable: Variable
    values: np.ndarray
    type: pa.DataType


def code_type(n_states: int) -> type[np.signedinteger]:
    """Return the smallest integer type that holds the codes 0 … n_states − 1 and −1 for missing."""
    return np.int8 if n_states <= 127 else np.int16 if n_states <= 32767 else np.int32


def as_arrow(name: str, values: Any) -> pa.ChunkedArray:
    """Return any one-dimensional values as an Arrow column; NaN and NaT in them become null."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.chunked_array([pa.array(values)])
    if np.ma.isMaskedArray(values):
        return pa.chunked_array([pa.array(values.data, mask=np.ma.getmaskarray(values))])
    try:
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.chunked_array([_mixed_column(name, values)])


def _mixed_column(name: str, values: Any) -> pa.Array:
    """Return a column of several Python types as numbers or text, where that loses nothing."""
    present = [v for v in values if v is not None and v == v]
    types = {type(v) for v in present}
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in present):
        return pa.array([float("nan") if v is None else float(v) for v in values], from_pandas=True)
    named = ", ".join(sorted(t.__name__ for t in types))
    raise DataError(f"column {name!r} must hold values of one type; got {named}. Turn them into text or numbers first.")


def infer_column(name: str, values: Any, kind: Kind | None = None) -> Column:
    """Return the column's variable, codes or floats, by the rules above or as ``kind`` says."""
    if kind is not None:
        check_choice(f"the kind of column {name!r}", kind, KINDS)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iuf" and not np.ma.isMA(values):
        arrow_type, chunked = pa.from_numpy_dtype(values.dtype), None
    else:
        chunked = as_arrow(name, values)
        arrow_type = chunked.type
    kind = kind or _natural_kind(name, arrow_type, values if chunked is None else chunked)
    if kind == "continuous":
        return Column(Variable(name), to_floats(name, values if chunked is None else chunked), arrow_type)
    if pa.types.is_dictionary(arrow_type):
        return _from_dictionary(name, chunked)
    if pa.types.is_boolean(arrow_type):
        codes = _numpy_integers(chunked.cast(pa.int8()))
        return Column(
            Variable(name, [False, True]), np.where(codes.mask, MISSING, codes.data).astype(np.int8), arrow_type
        )
    distinct, codes = distinct_values(name, values if chunked is None else chunked)
    order = np.argsort(distinct, kind="stable") if isinstance(distinct, np.ndarray) else _sorted_order(distinct)
    states = [_plain(distinct[i]) for i in order]
    rank = np.empty(len(order) + 1, code_type(len(order)))
    rank[order], rank[-1] = np.arange(len(order)), MISSING  # code −1 picks the last entry
    return Column(Variable(name, states), rank[codes], arrow_type)


def encode_column(variable: Variable, values: Any) -> tuple[np.ndarray, list[State]]:
    """Return codes or floats of a known variable, and the distinct values that are none of its states."""
    if variable.is_continuous:
        return to_floats(variable.name, values), []
    distinct, codes = distinct_values(variable.name, values)
    known = np.full(len(distinct) + 1, MISSING, code_type(variable.n_states))
    known[:-1] = [variable.find(_plain(value)) for value in distinct]
    return known[codes], [_plain(distinct[i]) for i in np.flatnonzero(known[:-1] == MISSING)]


def distinct_values(name: str, values: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct values that are present, and for each row which of them it holds (−1: missing)."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and not np.ma.isMA(values):
        if values.dtype.kind in "iu":
            return _distinct_integers(values)
        if values.dtype.kind == "f":
            return _distinct_floats(values)
    chunked = as_arrow(name, values)
    if pa.types.is_integer(chunked.type):
        integers = _numpy_integers(chunked)
        distinct, codes = _distinct_integers(integers.data[~integers.mask])
        return distinct, _spread(codes, ~integers.mask)
    if pa.types.is_floating(chunked.type):
        return _distinct_floats(_numpy_floats(chunked))
    if not pa.types.is_dictionary(chunked.type):
        _refuse_nested(name, chunked.type)
        chunked = pc.dictionary_encode(chunked)
    entries, codes = _dictionary_codes(chunked)
    used = np.zeros(len(entries) + 1, bool)
    used[codes] = True
    return _compact(entries, codes, used)


def to_floats(name: str, values: Any) -> np.ndarray:
    """Return values as float64 with NaN for missing; raise for text that is no number and for infinities."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iuf" and not np.ma.isMA(values):
        floats = values.astype(np.float64, copy=False)
    else:
        floats = _numpy_floats(_as_numbers(name, as_arrow(name, values)))
    infinite = np.isinf(floats)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"column {name!r} must hold finite numbers; row {row + 1} contains infinity ({floats[row]}). "
            "Replace it by a number or leave the cell empty."
        )
    return floats


def column_to_arrow(column: Column) -> pa.Array:
    """Return the column as an Arrow array of the type it came in; missing cells are null."""
    variable, values, arrow_type = column
    if variable.is_continuous:
        array = pa.array(values, mask=np.isnan(values))
        if pa.types.is_temporal(arrow_type):
            return array.cast(pa.int32() if arrow_type.bit_width == 32 else pa.int64()).cast(arrow_type)
        return array.cast(arrow_type)
    states = pa.array(list(variable.states or ()), None if variable.n_states else pa.null())
    indices = pa.array(values, mask=values < 0)
    if pa.types.is_dictionary(arrow_type):
        return pa.DictionaryArray.from_arrays(
            indices.cast(arrow_type.index_type), states.cast(arrow_type.value_type), ordered=arrow_type.ordered
        )
    return states.take(indices).cast(arrow_type)


def _natural_kind(name: str, arrow_type: pa.DataType, values: Any) -> Kind:
    """Return the kind by the rules at the top of this module."""
    _refuse_nested(name, arrow_type)
    t = pa.types
    if t.is_floating(arrow_type) or t.is_decimal(arrow_type) or t.is_temporal(arrow_type):
        return "continuous"
    if t.is_integer(arrow_type):
        present = _numpy_integers(values).compressed() if isinstance(values, pa.ChunkedArray) else values
        return "categorical" if _at_most_two(present) or _beyond_doubles(present) else "continuous"
    return "categorical"


def _refuse_nested(name: str, arrow_type: pa.DataType) -> None:
    t = pa.types
    if t.is_nested(arrow_type) or t.is_binary(arrow_type) or t.is_large_binary(arrow_type):
        raise DataError(f"column {name!r} must hold one plain value a row; got {arrow_type}.")


def _at_most_two(values: np.ndarray) -> bool:
    if values.size == 0:
        return True
    low, high = values.min(), values.max()
    return bool(int(high) - int(low) <= 1 or ((values == low) | (values == high)).all())


def _beyond_doubles(values: np.ndarray) -> bool:
    return bool(values.size and (int(values.max()) > _EXACT or int(values.min()) < -_EXACT))


def _numpy_integers(chunked: pa.ChunkedArray) -> np.ma.MaskedArray:
    """Return an integer column as a NumPy masked array of its own type."""
    mask = _null_mask(chunked)
    data = chunked.fill_null(0).to_numpy() if chunked.null_count else chunked.to_numpy()
    return np.ma.MaskedArray(data, mask)


def _null_mask(chunked: pa.ChunkedArray) -> np.ndarray:
    return chunked.is_null().to_numpy() if chunked.null_count else np.zeros(len(chunked), bool)


def _numpy_floats(chunked: pa.ChunkedArray) -> np.ndarray:
    """Return a numeric column as float64 with NaN for null (no copy where Arrow holds just that)."""
    if chunked.type != pa.float64():
        chunked = chunked.cast(pa.float64(), safe=False)
    return chunked.to_numpy()


def _as_numbers(name: str, chunked: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column cast to numbers, or raise and name the value that is none."""
    t, kind = pa.types, chunked.type
    if t.is_null(kind):
        return chunked.cast(pa.float64())
    if t.is_dictionary(kind):
        return _as_numbers(name, chunked.cast(kind.value_type))
    if t.is_date32(kind) or t.is_time32(kind):
        return chunked.cast(pa.int32())
    if t.is_temporal(kind):
        return chunked.cast(pa.int64())
    if not (t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)):
        _refuse_nested(name, kind)
        return chunked
    text = pc.utf8_trim_whitespace(chunked.cast(pa.large_string()))
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        bad = next((i, v) for i, v in enumerate(text.to_pylist()) if v is not None and not _is_number(v))
        raise DataError(
            f"column {name!r} must hold numbers; row {bad[0] + 1} holds {bad[1]!r}. "
            "Make the column categorical, or give that value as a missing marker."
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _dictionary_codes(chunked: pa.ChunkedArray) -> tuple[list[State], np.ndarray]:
    """Return a dictionary column's entries without nulls and repeats, and each row's entry (−1: missing)."""
    unified = chunked.unify_dictionaries()
    if not unified.num_chunks:
        return [], np.empty(0, np.int32)
    raw = unified.chunk(0).dictionary.to_pylist()
    entries = list(dict.fromkeys(v for v in raw if v is not None and v == v))
    position = {value: code for code, value in enumerate(entries)}
    known = np.array([position.get(value, MISSING) for value in raw] + [MISSING], code_type(len(raw)))
    codes = [known[chunk.indices.fill_null(len(raw)).to_numpy(zero_copy_only=False)] for chunk in unified.chunks]
    return entries, np.concatenate(codes)


def _from_dictionary(name: str, chunked: pa.ChunkedArray) -> Column:
    """Return a categorical column whose states are the dictionary, in its order, unused entries included."""
    entries, codes = _dictionary_codes(chunked)
    variable = Variable(name, entries, ordered=bool(chunked.type.ordered))
    return Column(variable, codes.astype(code_type(len(entries)), copy=False), chunked.type)


def _compact(entries: list[State], codes: np.ndarray, used: np.ndarray) -> tuple[list[State], np.ndarray]:
    """Return the entries that occur, and codes into them."""
    if used[:-1].all():
        return entries, codes
    position = np.cumsum(used[:-1]) - 1
    return [e for e, u in zip(entries, used[:-1], strict=True) if u], np.append(position, MISSING)[codes]


def _distinct_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.size == 0:
        return values, np.empty(0, np.int8)
    low, high = int(values.min()), int(values.max())
    if high - low >= _NARROW_RANGE:
        return np.unique(values, return_inverse=True)
    offsets = values - values.dtype.type(low) if values.dtype.itemsize > 2 else values.astype(np.int32) - low
    present = np.zeros(high - low + 1, bool)
    present[offsets] = True
    found = np.flatnonzero(present)
    lookup = np.zeros(high - low + 1, code_type(found.size))
    lookup[found] = np.arange(found.size)
    return (found + low).astype(values.dtype), lookup[offsets]


def _distinct_floats(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    present = ~np.isnan(values)
    distinct, codes = np.unique(values[present], return_inverse=True)
    return distinct, _spread(codes, present)


def _spread(codes: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return codes of the present rows at their places among all rows, −1 elsewhere."""
    if present.all():
        return codes
    spread = np.full(present.size, MISSING, np.int64)
    spread[present] = codes
    return spread


def _sorted_order(distinct: list[State]) -> np.ndarray:
    try:
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
    except TypeError:
        order = sorted(range(len(distinct)), key=lambda i: (type(distinct[i]).__name__, str(distinct[i])))
    return np.array(order, np.intp)


def _plain(value: object) -> Any:
    """Return a NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def describe_unseen(name: str, unseen: list[State]) -> str:
    """Return the sentence of the warning about states that the model has not seen."""
    return f"column {name!r} holds states that were not there at learning: {listed(unseen)}; they count as missing."
