"""Printed text and assertions: bytes on file descriptor 1, as a GPU's driver writes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.printf import formatter
from tilewright.interp.shared import reader
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileAssertionError
from tilewright.tileir.ops import output

STDOUT = 1


def write(text: str) -> None:
    """Write to the process' standard output, after what Python has printed."""
    if sys.stdout is not None:
        sys.stdout.flush()
    data = memoryview(text.encode())
    while data:
        data = data[os.write(STDOUT, data) :]


def _shower(form: str, value: Value) -> Callable[[Any], str]:
    """The text of a value of one block."""
    show, texts = formatter(form, value.type.dtype), output.brackets(value.type.shape)

    def text(x: Any) -> str:
        elements = np.asarray(x).reshape(-1).tolist()
        return texts[0] + "".join(show(e) + after for e, after in zip(elements, texts[1:], strict=True))

    return text


@impl_step(output.Print)
def print_(op: output.Print, low: Lowering) -> Step:
    first, *rest = op.texts
    parts = [
        (reader(value, op, low), low.varies(value), _shower(form, value), after)
        for value, form, after in zip(op.values, op.formats, rest, strict=True)
    ]

    def step(regs: Regs) -> None:
        lines = []
        values = [read(regs) for read, *_ in parts]
        for block in range(regs[0].count):
            lines.append(first)
            for value, (_, varies, show, after) in zip(values, parts, strict=True):
                lines += (show(value[block] if varies else value), after)
        write("".join(lines))

    return step


@impl_step(output.Assert)
def assert_(op: output.Assert, low: Lowering) -> Step:
    cond, line = low.slot(op.cond), op.line

    def step(regs: Regs) -> None:
        if np.all(regs[cond]):
            return
        held = np.broadcast_to(regs[cond], (regs[0].count,))
        chunk, block = regs[0], int(np.argmin(held))
        place = tuple(int(i[block]) if np.ndim(i) else int(i) for i in chunk.ids)
        write(line + "\n")
        raise TileAssertionError(op.message or "assertion failed", notes=[f"the condition is False in block {place}"])

    return step
