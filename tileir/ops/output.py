"""Printed text and assertions."""

from __future__ import annotations

import re

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Effects, Op, Value, attribute, operand, operands, require
from tilewright.tileir.diagnostics import NO_SPAN
from tilewright.tileir.types import SharedType, TileType, Type

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

    def infer(self) -> tuple[Type, ...]:
        count = len(self.values)
        require(len(self.formats) == count, f"print: {len(self.formats)} formats for {count} values")
        require(len(self.texts) == count + 1, f"print: {len(self.texts)} texts around {count} values")
        require(not any("\0" in text for text in self.texts), "print: a text cannot contain a NUL character")
        for value, form in zip(self.values, self.formats, strict=True):
            ok = isinstance(value.type, (TileType, SharedType)) and value.type.dtype in PRINTED
            require(ok, f"print: {value.type} cannot be printed")
            letters = FLOAT_CONVERSIONS if value.type.dtype.is_float else INTEGER_CONVERSIONS
            fits = _FORMAT.fullmatch(form) is not None and form[-1] in letters
            require(fits, f"print: {form!r} is no format for {value.type.dtype}")
        return ()

    def effects(self) -> Effects:
        return Effects(reads=tuple(v for v in self.values if isinstance(v.type, SharedType)), io=True)


class Assert(Op, opcode="assert", io=True):
    """Write `line` to the standard output and abort the program where `cond`, a bool scalar, is False.

    Of several blocks that fail one writes.
    """

    cond: Value = operand()
    message: str = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(self.cond.type.erased() == TileType(dt.bool_), f"assert: cond of type {self.cond.type}")
        require("\0" not in self.message, "assert_: the message cannot contain a NUL character")
        return ()

    @property
    def line(self) -> str:
        """What a failure writes, without the end of the line."""
        text = f"assertion failed: {self.message}" if self.message else "assertion failed"
        if self.span is NO_SPAN:
            return text
        return f"{self.span.file.replace(chr(92), '/').rpartition('/')[2]}:{self.span.line}: {text}"


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
