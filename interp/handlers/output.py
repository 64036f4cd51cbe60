"""Printed text and assertions, through sys.stdout as Python's own print."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.printf import formatter
from tilewright.interp.shared import reader
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileAssertionError
from tilewright.tileir.ops import output


def write(text: str) -> None:
    """Write to sys.stdout, whatever stands there, or where that is missing to the process' standard output."""
    if sys.stdout is None:
        os.write(1, text.encode())
        return
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:  # its encoding lacks a character
        sys.stdout.write(text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding))
    sys.stdout.flush()


def _shower(form: str, value: Value) -> Callable[[Any], str]:
    """The text of a value of one block."""
    show, texts = formatter(form, value.type.dtype), output.brackets(value.type.shape)

    def text(x: Any) -> str:
        elements = np.asarray(x).reshape(-1).tolist()
        return texts[0] + "".join(show(e) + after for e, after in zip(elements, texts[1:], strict=True))

    return text


def _texts(op: output.Print | output.Assert, low: Lowering) -> Callable[[Regs, Iterable[int]], Iterator[list[str]]]:
    """From registers and blocks to what each of these writes: each value, and the text after it."""
    parts = [
        (reader(value, op, low), low.varies(value), _shower(form, value), after)
        for value, form, after in zip(op.values, op.formats, op.texts[1:], strict=True)
    ]

    def texts(regs: Regs, blocks: Iterable[int]) -> Iterator[list[str]]:
        values = [read(regs) for read, *_ in parts]
        for block in blocks:
            yield [show(value[block] if varies else value) + after
                   for value, (_, varies, show, after) in zip(values, parts, strict=True)]

    return texts


@impl_step(output.Print)
def print_(op: output.Print, low: Lowering) -> Step:
    texts = _texts(op, low)

    def step(regs: Regs) -> None:
        write("".join(op.texts[0] + "".join(rest) for rest in texts(regs, range(regs[0].count))))

    return step


@impl_step(output.Assert)
def assert_(op: output.Assert, low: Lowering) -> Step:
    cond, texts = low.slot(op.cond), _texts(op, low)

    def step(regs: Regs) -> None:
        if np.all(regs[cond]):
            return
        held = np.broadcast_to(regs[cond], (regs[0].count,))
        chunk, block = regs[0], int(np.argmin(held))
        place = tuple(int(i[block]) if np.ndim(i) else int(i) for i in chunk.ids)
        [rest] = texts(regs, [block])
        write(op.lines[0].removesuffix("\n") + "".join(rest) + "\n")
        raise TileAssertionError(op.texts[0] + "".join(rest) or "assertion failed",
                                 notes=[f"the condition is False in block {place}"])

    return step
