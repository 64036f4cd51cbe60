"""`x.name`: what tiles, arrays, modules, enums and dataclasses offer."""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.frontend.advice import close_to, on_function, on_member
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.registry import RULES
from tilewright.frontend.dispatch import expression
from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.promotion import loose_dtype
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    BoundMethod,
    Builtin,
    Keywords,
    ListOf,
    RawMemory,
    Struct,
    Text,
    TiledView,
    Val,
    is_array,
    is_list,
    is_loose,
    is_tile,
    named,
)
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arrays import Extent, Stride

Reader = Callable[[Translator, Any], Val]

_TILE: dict[str, Reader] = {
    "dtype": lambda t, v: v.type.dtype, "shape": lambda t, v: v.type.shape, "ndim": lambda t, v: v.type.rank,
    "size": lambda t, v: v.type.size,
    "T": lambda t, v: call_value(t, Builtin("permute"), (v, tuple(range(v.type.rank))[::-1]), {}),
}
_LOOSE: dict[str, Reader] = {
    "dtype": lambda t, v: loose_dtype(v), "shape": lambda t, v: (), "ndim": lambda t, v: 0,
}
_ARRAY: dict[str, Reader] = {
    "dtype": lambda t, v: v.type.dtype, "ndim": lambda t, v: v.type.rank,
    "shape": lambda t, v: tuple(extent(t, v, k) for k in range(v.type.rank)),
    "strides": lambda t, v: tuple(stride(t, v, k) for k in range(v.type.rank)),
}
_VIEW: dict[str, Reader] = {
    "dtype": lambda t, v: v.array.type.dtype, "tile_shape": lambda t, v: v.tile_shape or (1,) * v.array.type.rank,
    "traversal_steps": lambda t, v: v.steps,
}
_RAW: dict[str, Reader] = {"dtype": lambda t, v: v.array.type.dtype}

_METHODS: dict[str, tuple[str, ...]] = {
    "Tile": ("reshape", "astype", "permute", "transpose", "extract", "insert", "item"),
    "Array": ("slice", "tiled_view", "get_raw_memory"),
    "TiledView": (
        "num_tiles", "load", "store", *(f"atomic_store_{n}" for n in ("add", "max", "min", "and", "or", "xor")),
    ),
    "RawArrayMemory": (
        "load_offset", "store_offset",
        *(f"atomic_{n}_offset" for n in ("cas", "xchg", "add", "max", "min", "and", "or", "xor")),
    ),
}

# Functions of the language whose first operand is a tile; t.sum(axis) is ct.sum(t, axis).
FUNCTIONS_AS_METHODS = frozenset((
    "abs", "all", "any", "argmax", "argmin", "argsort", "bitcast", "broadcast_to", "ceil", "clamp", "cos", "cumprod",
    "cumsum", "erf", "exp", "exp2", "expand_dims", "expm1", "flip", "floor", "isfinite", "isinf", "isnan", "log",
    "log1p", "log2", "matmul", "max", "min", "prod", "roll", "round", "rsqrt", "sigmoid", "sin", "sort", "sqrt", "sum",
    "take", "tanh", "topk", "trunc",
))

# Methods that Python itself runs while compiling: their results are constants again.
_OF_CONSTANTS: dict[type, tuple[str, ...]] = {
    int: ("bit_count", "bit_length"),
    float: ("is_integer",),
    str: ("count", "endswith", "find", "index", "isalpha", "isdigit", "islower", "isupper", "lower", "lstrip",
          "removeprefix", "removesuffix", "replace", "rstrip", "startswith", "strip", "upper"),
}


def extent(t: Translator, array: Value, axis: int) -> Val:
    """Length of an array along an axis: a constant where the user declared it static."""
    if axis in array.type.declared[0]:
        return array.type.extents[axis]
    return t.emit(Extent, array=array, axis=axis)


def stride(t: Translator, array: Value, axis: int) -> Val:
    """Stride of an array along an axis in elements: a constant where the user declared it static."""
    if axis in array.type.declared[1]:
        return array.type.strides[axis]
    return t.emit(Stride, array=array, axis=axis)


@expression(ast.Attribute)
def attribute(t: Translator, node: ast.Attribute) -> Val:
    return member(t, t.expr(node.value), node.attr)


def member(t: Translator, value: Val, name: str) -> Val:
    """`value.name`."""
    if name in _OF_CONSTANTS.get(type(value), ()):
        return getattr(value, name)
    readers, kind = _table(value)
    if readers is not None:
        if name in readers:
            return readers[name](t, value)
        if name in _METHODS[kind]:
            return BoundMethod(Builtin(f"{kind}.{name}"), value)
        if kind == "Tile" and name in FUNCTIONS_AS_METHODS:
            return BoundMethod(Builtin(name), value)
        hints = on_member(kind, name) or _as_function(kind, name) or close_to(name, [*readers, *_METHODS[kind]])
        if not hints and kind in ("TiledView", "RawArrayMemory"):
            hints = _members(readers, _METHODS[kind])
        raise TileTypeError(f"{named(value)} has no attribute {name}", hints=hints)
    return _of_object(t, value, name)


def _of_object(t: Translator, value: Val, name: str) -> Val:
    """An attribute of what is neither a tile nor an array: of a module, an enum, a dataclass, a tuple and so on."""
    if isinstance(value, types.ModuleType):
        return _from_module(t, value, name)
    if isinstance(value, enum.Enum):
        if name in ("name", "value"):
            return frontend_value(t, getattr(value, name), name)
    elif isinstance(value, type):
        return _from_type(t, value, name)
    elif isinstance(value, Struct):
        return _from_fields(t, value, value.type, value.fields, name)
    elif hasattr(value, "_fields") and (name in value._fields or (name in vars(type(value)) and name[:1] != "_")):
        return _from_fields(t, value, type(value), dict(zip(value._fields, value, strict=True)), name)
    for kind in _python_kinds(value):
        if f"{kind}.{name}" in RULES:
            return BoundMethod(Builtin(f"{kind}.{name}"), value)
    raise TileTypeError(f"{named(value)} has no attribute {name} in a kernel", hints=_other_hints(value))


def _python_kinds(value: Val) -> tuple[str, ...]:
    """Whose methods a value of Python has."""
    if isinstance(value, ListOf):
        return ("list", "tuple")
    if isinstance(value, tuple):
        return ("namedtuple", "tuple") if hasattr(value, "_fields") else ("tuple",)
    return ("dict",) if isinstance(value, Keywords) else ()


def _other_hints(value: Val) -> list[str]:
    if isinstance(value, DType):
        return ["compare it: x.dtype == ct.float32; pass its properties as constants"]
    if hasattr(value, "_fields"):
        return [f"its fields are {', '.join(value._fields)}"]
    if isinstance(value, tuple):
        if isinstance(value, ListOf):
            return ["a list has append, extend, insert, pop, remove, reverse, clear, copy, index and count"]
        return ["tuples have no fields and do not grow: index with t[0], join with t + (v,)"]
    if isinstance(value, (str, Text)):
        return ['put values into an f-string, f"{x}"; make other text outside the kernel, or in ct.static_eval(...)']
    if is_list(value):
        return ["a list of arrays has its length, len(xs), and its arrays, xs[i]"]
    return []


def _table(value: Val) -> tuple[dict[str, Reader] | None, str]:
    if is_tile(value):
        return _TILE, "Tile"
    if is_array(value):
        return _ARRAY, "Array"
    if isinstance(value, TiledView):
        return _VIEW, "TiledView"
    if isinstance(value, RawMemory):
        return _RAW, "RawArrayMemory"
    if is_loose(value) and not isinstance(value, enum.Enum):
        return _LOOSE, "Tile"
    return None, ""


def _members(readers: Iterable[str], methods: Iterable[str]) -> list[str]:
    return [f"it has {', '.join([*readers, *methods])}"]


def _as_function(kind: str, name: str) -> list[str]:
    """For a method that tiles lack, but whose name is a function of the language."""
    rule = RULES.get(name)
    if kind != "Tile" or rule is None or rule.signature.positional_only[:1] != ("x",):
        return []
    takes = rule.signature
    more = [other for other in (*takes.positional_only[1:], *takes.positional) if other not in takes.defaults]
    return [f"write ct.{name}({', '.join(('t', *more))})"]


def _from_module(t: Translator, module: types.ModuleType, name: str) -> Val:
    try:
        value = getattr(module, name)
    except AttributeError:
        hints = on_function(name) or close_to(name, dir(module), f"{module.__name__}.")
        raise TileTypeError(f"the module {module.__name__} has no attribute {name}", hints=hints) from None
    return frontend_value(t, value, f"{module.__name__}.{name}")


def _from_type(t: Translator, kind: type, name: str) -> Val:
    if name in ("__name__", "__qualname__"):
        return getattr(kind, name)
    if not hasattr(kind, name):
        if issubclass(kind, enum.Enum):
            raise TileTypeError(f"{kind.__name__} has no member {name}",
                                hints=close_to(name, kind.__members__) or [f"it has {', '.join(kind.__members__)}"])
        raise TileTypeError(f"{kind.__name__} has no attribute {name}", hints=close_to(name, dir(kind)))
    return frontend_value(t, getattr(kind, name), f"{kind.__name__}.{name}")


def _from_fields(t: Translator, value: Val, kind: type, fields: Mapping[str, Val], name: str) -> Val:
    """A field, method or property of an object of the user's class."""
    if name in fields:
        return fields[name]
    found: Any = None
    for base in kind.__mro__:
        if name in vars(base):
            found = vars(base)[name]
            break
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return call_value(t, found.fget, [value], {})
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return BoundMethod(found.__func__, kind)
    if isinstance(found, types.FunctionType):
        return BoundMethod(found, value)
    if found is None:
        hints = close_to(name, fields) or [f"its fields are {', '.join(fields)}"]
        raise TileTypeError(f"{kind.__name__} has no field or method {name}", hints=hints)
    return frontend_value(t, found, f"{kind.__name__}.{name}")
