"""print, printf and assert_."""

from __future__ import annotations

import re
from typing import Any

from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import cast, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Struct, Text, Val, describe, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType, bool_, float32, int32, uint32
from tilewright.tileir.ops import output as ops
from tilewright.tileir.ops.arith import Ne
from tilewright.tileir.ops.reduce import ReduceMin

Piece = str | tuple[Value, str]
_SPEC = re.compile(r"([<>]?)([-+ ]?)(#?)(0?)(\d*)(\.\d+)?([a-zA-Z]?)")
_C_FORMAT = re.compile(r"%(?:(%)|([-+ #0]*\d*(?:\.\d*)?)(?:hh|h|ll|l)?(.?))", re.DOTALL)
_INTEGER, _FLOAT = "diouxX", "eEfFgGaA"


@call_rule("print", print)
def print_(t: Translator, *args: Val, sep: Val = " ", end: Val = "\n") -> None:
    for name, value in (("sep", sep), ("end", end)):
        if not isinstance(value, str):
            raise bad("print", name, f"must be a constant string, got {named(value)}")
    pieces: list[Piece] = []
    for number, value in enumerate(args):
        pieces += [sep] if number else []
        pieces += shown(t, value)
    _emit(t, [*pieces, end])


@call_rule("printf")
def printf(t: Translator, fmt: Val, /, *tiles: Val) -> None:
    if not isinstance(fmt, str):
        raise bad("printf", "fmt", f"must be a constant string, got {named(fmt)}")
    pieces: list[Piece] = []
    left = list(tiles)
    end = 0
    for found in _C_FORMAT.finditer(fmt):
        pieces.append(fmt[end : found.start()])
        end = found.end()
        if found.group(1):
            pieces.append("%")
            continue
        options, letter = found.group(2), found.group(3)
        if not letter or letter not in _INTEGER + _FLOAT:
            raise bad("printf", "fmt", f"has {found.group(0)!r}; it may hold %{', %'.join(_INTEGER + _FLOAT)} and %%")
        if not left:
            raise bad("printf", "fmt", f"asks for more values than the {len(tiles)} that are given")
        value = left.pop(0)
        if not is_tile(value) and not is_loose(value):
            raise TileTypeError(f"printf: expected a tile or a scalar for {found.group(0)}, got {named(value)}")
        pieces.append(_formatted(t, "printf", printable(t, value), f"%{options}{letter}", value))
    if left:
        raise bad("printf", "fmt", f"asks for {len(tiles) - len(left)} values, but {len(tiles)} are given")
    _emit(t, [*pieces, fmt[end:]])


@call_rule("assert_")
def assert_(t: Translator, cond: Val, /, message: Val = None) -> None:
    if message is not None and not isinstance(message, str):
        raise bad("assert_", "message", f"must be a constant string, got {named(message)}")
    if isinstance(cond, bool):
        cond = t.constant(cond, bool_)
    if not is_tile(cond) or cond.type.dtype is not bool_:
        raise bad("assert_", "cond", f"must be a bool tile, got {named(cond)}", hints=["compare: ct.assert_(x > 0)"])
    if cond.type.shape:
        axes = tuple(range(len(cond.type.shape)))
        least = t.emit(ReduceMin, src=cast(t, cond, int32), axes=axes)
        cond = t.emit(Ne, lhs=least, rhs=t.constant(0, int32))
    t.emit_op(ops.Assert, cond=cond, message=message or "")


def _emit(t: Translator, pieces: list[Piece]) -> None:
    """One op for all pieces."""
    texts, formats, values = [""], [], []
    for piece in pieces:
        if isinstance(piece, str):
            texts[-1] += piece
            continue
        values.append(piece[0])
        formats.append(piece[1])
        texts.append("")
    t.emit_op(ops.Print, values=tuple(values), texts=tuple(texts), formats=tuple(formats))


# -- Values ------------------------------------------------------------------------------------------------------------


def shown(t: Translator, value: Val, *, inside: bool = False) -> list[Piece]:
    """What a value prints as; `inside` a tuple strings are quoted."""
    if isinstance(value, str):
        return [repr(value) if inside else value]
    if isinstance(value, Text):
        return [q for p in value.parts for q in ([p] if isinstance(p, str) else with_spec(t, *p))]
    if is_loose(value) or value is None:
        return [str(value)]
    if isinstance(value, tuple):
        out: list[Piece] = ["("]
        for number, item in enumerate(value):
            out += [", "] if number else []
            out += shown(t, item, inside=True)
        return [*out, ",)" if len(value) == 1 else ")"]
    if isinstance(value, Struct):
        out = [f"{value.type.__qualname__}("]
        for number, (name, item) in enumerate(value.fields.items()):
            out += [", " if number else "", f"{name}="]
            out += shown(t, item, inside=True)
        return [*out, ")"]
    if is_tile(value):
        return with_spec(t, value, "")
    return [f"<object of type {describe(value)}>"]


def with_spec(t: Translator, value: Val, spec: str) -> list[Piece]:
    """A part of an f-string."""
    if not is_tile(value):
        constant = known(value)
        return [format(constant, spec)] if constant is not None and spec else shown(t, value)
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise TileTypeError(f"f-string: the format {spec!r} is not possible for a {describe(value)}",
                            hints=["formats look like [<][+][#][0][width][.digits][d, x, f, e, g, ...]"])
    align, sign, sharp, zero, width, digits, letter = found.groups()
    tile = printable(t, value)
    kind = letter or ("f" if tile.type.dtype.is_float else "u" if tile.type.dtype in _UNSIGNED else "d")
    left = "-" if align == "<" else ""
    plain = f"%{left}{sign if sign != '-' else ''}{sharp}{zero}{width}{digits or ''}{kind}"
    return [_formatted(t, "f-string", tile, plain, value)]


_UNSIGNED = tuple(d for d in ops.PRINTED if d.is_int and not d.is_signed)


def _formatted(t: Translator, op: str, tile: Value, form: str, value: Val) -> Piece:
    wanted = _FLOAT if tile.type.dtype.is_float else _INTEGER
    if form[-1] not in wanted:
        raise TileTypeError(f"{op}: the format {form} does not fit {named(value)}",
                            hints=[f"use one of {', '.join('%' + c for c in wanted)}, or cast the value"])
    return tile, form


def printable(t: Translator, value: Val) -> Value:
    """A tile or number in a dtype that can be printed."""
    tile = typed(t, value)
    return cast(t, tile, _printed_dtype(tile.type.dtype))


def _printed_dtype(dtype: DType) -> Any:
    if dtype in ops.PRINTED:
        return dtype
    if dtype.is_float:
        return float32
    return uint32 if dtype.is_int and not dtype.is_signed else int32
