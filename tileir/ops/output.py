"""Printed text and assertions."""

from __future__ import annotations

import re

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Effects, Op, Value, attribute, operand, operands, require
from tilewright.tileir.diagnostics import NO_SPAN
from tilewright.tileir.types import SharedType, TileType

PRINTED = (dt.bool_, dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64,
           dt.float32, dt.float64)
INTEGER_CONVERSIONS, FLOAT_CONVERSIONS = "diouxX", "eEfFgGaA"
_FORMAT = re.compile(rf"%[-+ #0]*\d*(?:\.\d*)?[{INTEGER_CONVERSIONS}{FLOAT_CONVERSIONS}]")


class Print(Op, opcode="print", io=True):
    """Write text to the process' standard output, once per block: `texts` with the values between them.

    `formats` holds a C conversion for each value, without a length: "%d", "%-8.3f". An integer counts as one of 32 or
    64 bits, as in C; a bool is 0 or 1. A tile is written in nested brackets, each element by the format. A value is a
    tile, or a shared buffer that holds one.
    """

    values: tuple[Value, ...] = operands()
    texts: tuple[str, ...] = attribute()
    formats: tuple[str, ...] = attribute()

    def check(self) -> None:
        _check(self)

    def effects(self) -> Effects:
        return Effects(reads=tuple(v for v in self.values if isinstance(v.type, SharedType)), io=True)


class Assert(Op, opcode="assert", io=True):
    """Write `lines` to the standard output and abort the program where `cond`, a bool scalar, is False.

    The message consists of scalars, `texts` and `formats`, as `print` has them. Of several blocks that fail one writes.
    """

    cond: Value = operand()
    values: tuple[Value, ...] = operands()
    texts: tuple[str, ...] = attribute()
    formats: tuple[str, ...] = attribute()

    def check(self) -> None:
        require(self.cond.type.erased() == TileType(dt.bool_), f"assert: cond of type {self.cond.type}")
        require(all(v.type == TileType(v.type.dtype) for v in self.values), "assert: the values must be scalars")
        _check(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """The texts of what a failure writes, its line and the end of it included."""
        head = "assertion failed" + ": " * (self.texts != ("",))
        if self.span is not NO_SPAN:
            head = f"{self.span.file.replace(chr(92), '/').rpartition('/')[2]}:{self.span.line}: {head}"
        first, *rest = self.texts
        *others, last = (head + first, *rest)
        return (*others, last + "\n")


def _check(op: Print | Assert) -> None:
    """TileTypeError where texts, formats and values do not fit each other."""
    name, count = op.opcode, len(op.values)
    require(len(op.formats) == count, f"{name}: {len(op.formats)} formats for {count} values")
    require(len(op.texts) == count + 1, f"{name}: {len(op.texts)} texts around {count} values")
    require(not any("\0" in text for text in op.texts), f"{name}: a text cannot contain a NUL character")
    for value, form in zip(op.values, op.formats, strict=True):
        ok = isinstance(value.type, (TileType, SharedType)) and value.type.dtype in PRINTED
        require(ok, f"{name}: {value.type} cannot be printed")
        letters = FLOAT_CONVERSIONS if value.type.dtype.is_float else INTEGER_CONVERSIONS
        fits = _FORMAT.fullmatch(form) is not None and form[-1] in letters
        require(fits, f"{name}: {form!r} is no format for {value.type.dtype}")


def brackets(shape: tuple[int, ...]) -> list[str]:
    """The texts before, between and after the elements of a printed tile: [[1, 2], [3, 4]]."""
    between = ", "
    out: list[str] = []
    for length in reversed(shape):
        inner = out or ["", ""]
        joined = [inner[0]]
        for _ in range(length - 1):
            joined += [*inner[1:-1], inner[-1] + between + inner[0]]
        joined += inner[1:]
        out = ["[" + joined[0], *joined[1:-1], joined[-1] + "]"]
    return out or ["", ""]
