"""print, printf and assert_."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tilewright.frontend.branches import emit_if
from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import broadcast, broadcast_shapes, cast
from tilewright.frontend.structure import Merge
from tilewright.frontend.texts import Piece, printable, shown
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Text, Val, is_loose, is_tile, named
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import output as ops
from tilewright.tileir.ops.arith import Ne
from tilewright.tileir.ops.reduce import ArgMin, ReduceMin
from tilewright.tileir.ops.shape import Reshape, Take

_CONVERSION = re.compile(r"%(?:(%)|([-+ #0]*\d*(?:\.\d*)?)(hh|h|ll|l|)(.?))", re.DOTALL)
# What a length makes of an integer before it is printed, as in C: signed, unsigned.
_LENGTHS = {"hh": (dt.int8, dt.uint8), "h": (dt.int16, dt.uint16)}


@call_rule("print", print)
def print_(t: Translator, *args: Val, sep: Val = " ", end: Val = "\n") -> None:
    for name, value in (("sep", sep), ("end", end)):
        if not isinstance(value, str):
            raise bad("print", name, f"must be a constant string, got {named(value)}")
    pieces: list[Piece] = []
    for number, value in enumerate(args):
        pieces += [sep] if number else []
        pieces += shown(t, value)
    _emit(t, "print", [*pieces, end])


@call_rule("printf")
def printf(t: Translator, fmt: Val, /, *tiles: Val) -> None:
    if not isinstance(fmt, str):
        raise bad("printf", "fmt", f"must be a constant string, got {named(fmt)}")
    pieces: list[Piece] = []
    end = used = 0
    for found in _CONVERSION.finditer(fmt):
        pieces.append(fmt[end : found.start()])
        end = found.end()
        if found.group(1):
            pieces.append("%")
            continue
        _check_letter(found)
        used += 1
        if used <= len(tiles):
            pieces.append(_converted(t, found, tiles[used - 1]))
    if used != len(tiles):
        wanted = "1 value" if used == 1 else f"{used} values"
        raise bad("printf", "fmt", f"asks for {wanted}, but {len(tiles)} {'is' if len(tiles) == 1 else 'are'} given")
    _emit(t, "printf", [*pieces, fmt[end:]])


_HINTS = {
    "": ["write %% for a percent sign"], "s": ["put constant text into the format itself, or use print"],
    "*": ["write the width into the format"],
}


def _check_letter(found: re.Match[str]) -> None:
    letter = found.group(4)
    if letter and letter in ops.INTEGER_CONVERSIONS + ops.FLOAT_CONVERSIONS:
        return
    letters = ", ".join("%" + c for c in ops.INTEGER_CONVERSIONS + ops.FLOAT_CONVERSIONS)
    raise bad("printf", "fmt", f"has {found.group()!r}, expected {letters} or %%", hints=_HINTS.get(letter, []))


def _converted(t: Translator, found: re.Match[str], value: Val) -> Piece:
    """A value of printf with its conversion."""
    _, options, length, letter = found.groups()
    if not is_tile(value) and not is_loose(value):
        raise TileTypeError(f"printf: expected a tile or a scalar for {found.group()}, got {named(value)}")
    tile = printable(t, value)
    fits = ops.FLOAT_CONVERSIONS if tile.type.dtype.is_float else ops.INTEGER_CONVERSIONS
    if letter not in fits or (length in _LENGTHS and letter in ops.FLOAT_CONVERSIONS):
        raise bad("printf", "fmt", f"has {found.group()}, which does not fit {named(value)}",
                  hints=[f"use one of {', '.join('%' + c for c in fits)}, or cast the value"])
    if length in _LENGTHS:
        narrow: DType = _LENGTHS[length][letter not in "di"]
        if tile.type.dtype.bitwidth > narrow.bitwidth:
            tile = cast(t, tile, narrow)
    return tile, f"%{options}{letter}"


@call_rule("assert_")
def assert_(t: Translator, cond: Val, /, message: Val = None) -> None:
    if message is not None and not isinstance(message, (str, Text)):
        raise bad("assert_", "message", f"must be a string, got {named(message)}")
    parts = message.parts if isinstance(message, Text) else (message or "",)
    if isinstance(cond, bool):
        cond = t.constant(cond, dt.bool_)
    if not is_tile(cond) or cond.type.dtype is not dt.bool_:
        raise bad("assert_", "cond", f"must be a bool tile, got {named(cond)}", hints=["compare: ct.assert_(x > 0)"])
    held = cond
    if cond.type.shape:
        axes = tuple(range(len(cond.type.shape)))
        least = t.emit(ReduceMin, src=cast(t, cond, dt.int32), axes=axes)
        held = t.emit(Ne, lhs=least, rhs=t.constant(0, dt.int32))
    if not any(not isinstance(p, str) and p[0].type.shape for p in parts):
        _emit_text(t, "assert_", ops.Assert, parts, cond=held)
        return
    with t.inside(Block()) as failed:
        chosen = _at_first_false(t, cond, [p[0] for p in parts if not isinstance(p, str)])
        given = [p if isinstance(p, str) else (next(chosen), p[1]) for p in parts]
        _emit_text(t, "assert_", ops.Assert, given, cond=t.constant(False, dt.bool_))
    emit_if(t, held, Block(), failed, Merge())


def _at_first_false(t: Translator, cond: Value, tiles: Sequence[Value]) -> Iterator[Value]:
    """The elements of tiles at the first place, in row-major order, where a condition is False."""
    n = cond.type.size
    flat = t.emit(Reshape, src=cast(t, cond, dt.int32), shape=(n,))
    place = t.emit(Reshape, src=t.emit(ArgMin, src=flat, axis=0), shape=(1,))
    for tile in tiles:
        if broadcast_shapes(tile.type.shape, cond.type.shape) != cond.type.shape:
            raise bad("assert_", "message", f"shows {named(tile)}, but the condition has the shape {cond.type.shape}",
                      hints=["it shows one element: that for which the condition is False"])
        row = t.emit(Reshape, src=broadcast(t, tile, cond.type.shape), shape=(n,))
        yield t.emit(Reshape, src=t.emit(Take, src=row, index=place, axis=0), shape=())


def _emit(t: Translator, op: str, pieces: Sequence[Piece]) -> None:
    """One op for all pieces."""
    _emit_text(t, op, ops.Print, pieces)


def _emit_text(t: Translator, op: str, kind: type[Op], pieces: Sequence[Piece], **fields: Value) -> None:
    texts, formats, values = [""], [], []
    for piece in pieces:
        if isinstance(piece, str):
            texts[-1] += piece
            continue
        values.append(printable(t, piece[0]))
        formats.append(piece[1])
        texts.append("")
    _check_text(op, *texts)
    t.emit_op(kind, values=tuple(values), texts=tuple(texts), formats=tuple(formats), **fields)


def _check_text(op: str, *texts: str) -> None:
    if any("\0" in text for text in texts):
        raise TileValueError(f"{op}: the text has a NUL character, where C's strings end")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise TileValueError(f"{op}: the text has characters that UTF-8 cannot hold") from None
