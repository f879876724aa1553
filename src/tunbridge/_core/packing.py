"""Records as plain content of a file, and back: driven by their type hints.

A dataclass or named tuple becomes a mapping of its fields, a mapping a list of [key, value] pairs, and tuples, lists
and sets become lists. Numbers, texts, arrays and whatever else :mod:`tunbridge.formats.native` can write stay as they
are. Reading follows the hints of the fields and checks what it meets, so that a damaged or hostile file gives a
ValueError rather than an object that answers nonsense. It also takes what earlier versions wrote: the fields of a
record in a list, and a pair as a mapping of two entries.

An array says in its hint what it must be, by an :class:`ArrayRule`: ``counts: CountArray``. Its shape depends on other
parts, and is checked by the record that knows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

_LEAVES = {int: (int,), float: (float, int), str: (str,), bool: (bool,)}


@dataclass(frozen=True)
class ArrayRule:
    """What an array in a file must be: of one of these types, finite, not below ``low``, its sum not above ``most``."""

    types: tuple[str, ...]
    low: float = -math.inf
    most: float = math.inf

    def checked(self, content: object) -> np.ndarray:
        """Return the array; raise ValueError where it is none, or breaks the rule."""
        if isinstance(content, np.ndarray) and not content.size and content.dtype.kind in "fi":
            content = content.astype(self.types[0])  # earlier versions wrote empty arrays of any type
        if not isinstance(content, np.ndarray) or content.dtype.name not in self.types:
            got = content.dtype.name if isinstance(content, np.ndarray) else type(content).__name__
            raise ValueError(f"an array of {' or '.join(self.types)} was expected, not {got}")
        if content.dtype.kind == "f" and not np.isfinite(content).all():
            raise ValueError("an array must hold finite numbers")
        if content.size and content.min() < self.low:
            raise ValueError(f"an array must hold numbers of at least {self.low:g}")
        with np.errstate(over="ignore"):
            if self.most < math.inf and content.sum(dtype=np.float64) > min(self.most, _LARGEST[content.dtype.kind]):
                raise ValueError("counts must have a sum that does not overflow")
        return content


_LARGEST = {"f": math.inf, "i": 2.0**62}
_MOST = 1e300  # sums of counts, and counts times small numbers, do not overflow

FloatArray: TypeAlias = Annotated[np.ndarray, ArrayRule(("float64",))]
"""An array of finite numbers."""

SquareArray: TypeAlias = Annotated[np.ndarray, ArrayRule(("float64",), low=0)]
"""An array of finite numbers, none of them negative."""

WeightArray: TypeAlias = Annotated[np.ndarray, ArrayRule(("float64",), 0, _MOST)]
"""An array of weights."""

CountArray: TypeAlias = Annotated[np.ndarray, ArrayRule(("int64", "float64"), 0, _MOST)]
"""An array of counts: integers, or weights."""

PlaceArray: TypeAlias = Annotated[np.ndarray, ArrayRule(("int64",), low=0)]
"""An array of positions."""


def pack(value: object) -> Any:
    """Return a value as plain content.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    ...     tags: tuple[str, ...] = ()
    >>> pack({"a": Point(1.5, ("red", "blue"))})
    [['a', {'x': 1.5, 'tags': ['red', 'blue']}]]
    """
    if names := _field_names(type(value)):
        known = {name: getattr(value, name) for name in names}
        return {name: pack(each) for name, each in known.items() if each is not False or name not in _optional(value)}
    if isinstance(value, Mapping):
        return [[key, pack(each)] for key, each in value.items()]
    if isinstance(value, Set):
        return sorted(pack(each) for each in value)
    if isinstance(value, (tuple, list)):
        return [pack(each) for each in value]
    return value


def unpack(hint: object, content: object) -> Any:
    """Return the value of a type that :func:`pack` wrote; raise ValueError when the content is none.

    Examples
    --------
    >>> unpack(dict[str, tuple[float, ...]], [["a", [1.0, 2.0]]])
    {'a': (1.0, 2.0)}
    >>> unpack(int, "many")
    Traceback (most recent call last):
    ValueError: a number was expected, not 'many'
    """
    origin: Any = get_origin(hint)
    inner = get_args(hint)
    if hint is Any:
        return content
    if origin is Annotated:
        return inner[1].checked(content)
    if origin in (Union, UnionType):
        return _unpack_union(inner, content)
    if isinstance(hint, type) and origin is None:
        if _field_names(hint) and isinstance(content, hint):
            return content  # a Variable
        return _unpack_record(hint, content) if _field_names(hint) else _unpack_leaf(hint, content)
    if not isinstance(content, list):
        raise ValueError(f"a list was expected, not {type(content).__name__}")
    if issubclass(origin, Mapping):
        return {unpack(inner[0], key): unpack(inner[1], each) for key, each in map(_pair, content)}
    if origin is tuple and inner[-1] is not Ellipsis:
        if len(content) != len(inner):
            raise ValueError(f"{len(inner)} entries were expected, not {len(content)}")
        return tuple(map(unpack, inner, content))
    return origin(unpack(inner[0], each) for each in content)


def unpack_fields(record: type, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that are in some content, by name."""
    hints = get_type_hints(record, include_extras=True)
    return {name: unpack(hints[name], content[name]) for name in _field_names(record) if name in content}


def _field_names(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind) if field.init)  # the others follow from these
    return tuple(getattr(kind, "_fields", ()))


def _optional(value: object) -> set[str]:
    """Return the fields of a record that are left out where they are False: files of most records do not change."""
    return {field.name for field in fields(value) if field.metadata.get("optional")} if is_dataclass(value) else set()


def _unpack_record(record: type, content: object) -> Any:
    if isinstance(content, Mapping):
        return record(**unpack_fields(record, content))
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise ValueError(f"the parts of a {record.__name__} were expected, not {type(content).__name__}")
    hints = get_type_hints(record, include_extras=True)
    given = zip(_field_names(record), content, strict=False)
    return record(**{name: unpack(hints[name], each) for name, each in given})


def _unpack_leaf(kind: type, content: object) -> Any:
    allowed = _LEAVES.get(kind, (kind,))
    content = content.item() if isinstance(content, np.generic) else content
    if not isinstance(content, allowed) or (isinstance(content, bool) and kind is not bool):
        what = "a number" if kind in (int, float) else kind.__name__
        raise ValueError(f"{what} was expected, not {content!r:.60}")
    if isinstance(content, float) and content != content:
        raise ValueError("a number was expected, not NaN")
    return float(content) if kind is float else content  # type: ignore[arg-type]


def _unpack_union(choices: Sequence[Any], content: object) -> Any:
    if content is None and NoneType in choices:
        return None
    *others, last = (choice for choice in choices if choice is not NoneType)
    for choice in others:
        with suppress(ValueError):
            return unpack(choice, content)
    return unpack(last, content)


def _pair(item: Mapping[str, Any] | Sequence[Any]) -> tuple[Any, Any]:
    key, value = item.values() if isinstance(item, Mapping) else item
    return key, value
