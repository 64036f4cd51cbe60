"""What a field of an op may hold, read from the field's annotation; and what a type may look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tilewright.tileir.core import Function, Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.layout import Layout
from tilewright.tileir.types import LARGEST_TILE, ArrayType, ListType, SharedType, TileType, TupleType, Type

# Words that annotations of attributes are made of, and what they admit.
_WORDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "None": ("none", lambda v: v is None),
    "bool": ("true or false", lambda v: isinstance(v, bool)),
    "int": ("an integer", lambda v: isinstance(v, int) and not isinstance(v, bool)),
    "float": ("a float", lambda v: isinstance(v, float)),
    "str": ("a string", lambda v: isinstance(v, str)),
    "DType": ("a dtype", lambda v: isinstance(v, DType)),
    "TileType": ("a tile type", lambda v: isinstance(v, TileType)),
    "ArrayType": ("an array type", lambda v: isinstance(v, ArrayType)),
    "SharedType": ("a shared type", lambda v: isinstance(v, SharedType)),
    "Type": ("a type", lambda v: isinstance(v, Type)),
    "Layout": ("a layout", lambda v: isinstance(v, Layout)),
    "tuple[int, ...]": ("a tuple of integers", lambda v: isinstance(v, tuple) and all(type(i) is int for i in v)),
}


_annotations: dict[tuple[type[Op], str], str] = {}


def annotation(cls: type[Op], name: str) -> str:
    """The annotation of a field as it is written."""
    known = _annotations.get((cls, name))
    if known is None:
        found = (inspect.get_annotations(base).get(name) for base in cls.__mro__)
        text = next((text for text in found if text is not None), "")
        known = _annotations[cls, name] = text if isinstance(text, str) else getattr(text, "__name__", "")
    return known


def attribute_complaint(cls: type[Op], name: str, value: Any) -> str:
    """What is wrong with an attribute's value ("" if nothing is)."""
    enum = cls.fields[name].enum
    if enum is not None:
        if (value is None and "None" in annotation(cls, name)) or isinstance(value, enum):
            return ""
        return f"expected one of {', '.join(repr(m.value) for m in enum)}"
    words = annotation(cls, name).split(" | ")
    known = [_WORDS[word] for word in words if word in _WORDS]
    if len(known) != len(words):
        return ""  # an annotation that this table does not know admits anything
    if any(admits(value) for _, admits in known):
        return ""
    return f"expected {' or '.join(text for text, _ in known)}"


def type_complaint(type_: Type) -> str:
    """What is wrong with a type ("" if nothing is)."""
    match type_:
        case TileType(shape=shape, layout=layout):
            if any(n < 1 or n & (n - 1) for n in shape):
                return f"{type_}: the dimensions of a tile are powers of two"
            if type_.size > LARGEST_TILE:
                return f"{type_}: a tile has at most {LARGEST_TILE} elements"
            return _layout_complaint(type_, layout)
        case SharedType(shape=shape, layout=layout, copies=copies):
            if copies < 1 or any(n < 1 or n & (n - 1) for n in shape):
                return f"{type_}: the dimensions of a shared tile are powers of two, and it has at least one copy"
            return _layout_complaint(type_, layout)
        case ArrayType():
            return _array_complaint(type_)
        case ListType(element=element):
            return type_complaint(element)
        case TupleType(items=items):
            return next(filter(None, map(type_complaint, items)), "")


def _layout_complaint(type_: TileType | SharedType, layout: Layout | None) -> str:
    if layout is None or layout.shape == type_.shape:
        return ""
    return f"{type_}: its layout is for the shape {'x'.join(map(str, layout.shape))}"


def _array_complaint(type_: ArrayType) -> str:
    lengths = {len(type_.extents), len(type_.strides), len(type_.extent_div), len(type_.stride_div)}
    if len(lengths) != 1:
        return f"{type_}: extents, strides and divisors have different lengths"
    if any(n is not None and n < 0 for n in type_.extents):
        return f"{type_}: an extent is negative"
    if any(d < 1 for d in (*type_.extent_div, *type_.stride_div, type_.align)):
        return f"{type_}: divisors and the alignment are at least 1"
    if not type_.index.is_int:
        return f"{type_}: the index dtype is an integer"
    return ""


def aliases_complaint(function: Function) -> str:
    """What is wrong with the aliases of a function, or "". Positions are those of arrays or lists, each in one group;
    who is the same as another has no use."""
    same, groups = function.aliases.same, function.aliases.groups
    params = function.params
    grouped = [position for group in groups for position in group]
    for position in (*grouped, *(p for pair in same for p in pair)):
        if not (0 <= position < len(params) and isinstance(params[position].type, ArrayType | ListType)):
            return f"parameter {position} is no array"
    if len(set(grouped)) < len(grouped):
        return "a parameter is in two groups"
    used = {value for op in function.walk() for value in op.operands}
    for pair in same:
        if len(pair) != 2 or pair[1] >= pair[0] or params[pair[0]].type != params[pair[1]].type:
            return f"{pair} is no pair of a parameter and an earlier one like it"
        if params[pair[0]] in used:
            return f"parameter {pair[0]} is used, though {pair[1]} stands for it"
    return ""
