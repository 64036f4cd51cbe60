"""Text made of values: how each prints, f-strings with their format specs, str and repr."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Iterable
from typing import Any

from tilewright.frontend.calls.call import call_value
from tilewright.frontend.promotion import cast, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Struct, Text, Val, describe, is_loose, is_tile, known, named
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.output import FLOAT_CONVERSIONS, INTEGER_CONVERSIONS, PRINTED

# Text, or a tile and the C conversion of its elements.
Piece = str | tuple[Value, str]
_SPEC = re.compile(r"([<>]?)([-+ ]?)(#?)(0?)(\d*)(\.\d+)?([a-zA-Z]?)")
_SPEC_HINT = "a format is [<][+][#][0][width][.digits][letter], the letter one of"


def shown(t: Translator, value: Val, *, quoted: bool = False) -> list[Piece]:
    """What a value prints as; `quoted`: as inside a tuple, by `repr`, with strings in quotes."""
    if isinstance(value, str):
        return [repr(value) if quoted else value]
    if isinstance(value, Text):
        return ["'", *value.parts, "'"] if quoted else list(value.parts)
    constant = known(value)
    if constant is not None and not isinstance(value, enum.Enum):
        return [str(constant)]
    if is_tile(value):
        return [(value, conversion("", value))]
    if isinstance(value, Keywords):
        items = ([f"{key!r}: ", *shown(t, v, quoted=True)] for key, v in value.items.items())
        return ["{", *_listed(items), "}"]
    if isinstance(value, (Struct, tuple)):
        return _composite(t, value, quoted)
    if value is None or value is ... or isinstance(value, (enum.Enum, DType)):
        return [repr(value) if quoted and isinstance(value, enum.Enum) else str(value)]
    return [f"<object of type {describe(value)}>"]


def _composite(t: Translator, value: Any, quoted: bool) -> list[Piece]:
    """A tuple, or an object with fields, by its class's own __str__ or __repr__ where it has one."""
    kind: Any = value.type if isinstance(value, Struct) else type(value)
    for name in ("__repr__",) if quoted else ("__str__", "__repr__"):
        method = getattr(kind, name, None)
        if isinstance(method, types.FunctionType) and not _is_generated(method):
            text = call_value(t, method, [value], {})
            if not isinstance(text, (str, Text)):
                raise TileTypeError(f"{kind.__name__}.{name} returns {named(text)}, expected a string")
            return shown(t, text)
    if isinstance(value, tuple) and not hasattr(kind, "_fields"):
        ends = ("[", "]") if isinstance(value, ListOf) else ("(", ",)" if len(value) == 1 else ")")
        return [ends[0], *_listed(shown(t, v, quoted=True) for v in value), ends[1]]
    if isinstance(value, Struct):
        name, parts = kind.__qualname__, {f.name: value.fields[f.name] for f in dataclasses.fields(kind) if f.repr}
    else:
        name, parts = kind.__name__, dict(zip(value._fields, value, strict=True))
    return [f"{name}(", *_listed([f"{field}=", *shown(t, v, quoted=True)] for field, v in parts.items()), ")"]


def _is_generated(method: types.FunctionType) -> bool:
    """Whether a dataclass or named tuple was given it: the code of these has no file of the user's."""
    own = inspect.unwrap(method)
    return (own.__code__.co_filename == "<string>" and own is not method) or method.__module__ == "collections"


def _listed(items: Iterable[list[Piece]]) -> list[Piece]:
    out: list[Piece] = []
    for number, item in enumerate(items):
        out += [", "] if number else []
        out += item
    return out


def formatted(t: Translator, value: Val, spec: str) -> list[Piece]:
    """A value by the format spec of an f-string."""
    if not spec:
        return shown(t, value)
    constant = known(value)
    if constant is None and not is_tile(value):
        if isinstance(value, str):
            return [_python(value, spec)]
        raise TileTypeError(f"f-string: {named(value)} cannot have a format, but has {spec!r}",
                            hints=["leave the format out, or format its parts one by one"])
    tile = value if is_tile(value) else None
    form = conversion(spec, value)
    if constant is not None and form[-1] not in "iuaA":
        return [_python(constant, spec)]
    return [(tile if tile is not None else typed(t, constant), form)]


def _python(value: str | float, spec: str) -> str:
    try:
        return format(value, spec)
    except ValueError as error:
        raise TileTypeError(f"f-string: {spec!r} is no format for {value!r}: {error}") from None


def conversion(spec: str, value: Val) -> str:
    """The C conversion for the elements of a tile, or for a constant."""
    dtype = value.type.dtype if is_tile(value) else None
    is_float = dtype.is_float if dtype is not None else isinstance(value, float)
    letters = FLOAT_CONVERSIONS if is_float else INTEGER_CONVERSIONS
    found = _SPEC.fullmatch(spec)
    if found is None or (found.group(7) and found.group(7) not in letters):
        raise TileTypeError(f"f-string: the format {spec!r} does not fit {named(value)}",
                            hints=[f"{_SPEC_HINT} {', '.join(letters)}"])
    align, sign, sharp, zero, width, digits, letter = found.groups()
    letter = letter or ("f" if is_float else "d")
    if letter in "di" and dtype is not None and dtype.is_int and not dtype.is_signed:
        letter = "u"
    flags = f"{'-' if align == '<' else ''}{sign if sign != '-' else ''}{sharp}{zero}"
    return f"%{flags}{width}{digits or ''}{letter}"


def joined(pieces: Iterable[Piece]) -> str | Text:
    """One string: Python's where nothing in it is left to the run."""
    parts = tuple(pieces)
    if all(isinstance(p, str) for p in parts):
        return "".join(p for p in parts if isinstance(p, str))
    return Text(parts)


def printable(t: Translator, value: Val) -> Value:
    """A tile or number in a dtype that the IR prints; no value changes."""
    tile = typed(t, value) if is_loose(value) else value
    dtype = tile.type.dtype
    result: Value = tile if dtype in PRINTED else cast(t, tile, dt.float32)
    return result
