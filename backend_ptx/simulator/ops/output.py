"""`vprintf` as the driver provides it, and traps. The text goes to file descriptor 1, formatted by the C library."""

from __future__ import annotations

import ctypes
import re
import sys

import numpy as np

from tilewright.backend_ptx.simulator.errors import SimError, Trap
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction

_CONVERSION = re.compile(rb"%(?:%|[-+ #0]*\d*(?:\.\d*)?(hh|h|ll|l)?([diouxXeEfgGaA]))")
# CUDA C++ Programming Guide, formatted output: values beyond these are not printed.
_MOST_VALUES = 32


def vprintf(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    """i32 @vprintf(ptr format, ptr values): one call of one thread is one piece of output."""
    text, values = (c.slot(o) for o in i.operands)
    target = c.result(i) if i.result is not None else None

    def run(m: Machine, r: Registers) -> None:
        if m.memory.prior is not None:
            m.memory.prior.require("prints", m.active)
        starts, buffers = m.of_active(r[text]), m.of_active(r[values])
        for thread, start, buffer in zip(m.active, starts, buffers, strict=True):
            _write(_formatted(m, m.memory.c_string(int(start)), int(buffer), np.array([thread])))
        if target is not None:
            m.put(r, target, np.array([0], np.uint32))

    return run


def trap(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    """`trap;` ends the launch with an error."""

    def run(m: Machine, r: Registers) -> None:
        raise Trap("the kernel trapped", m.active)

    return run


def _formatted(m: Machine, form: bytes, buffer: int, thread: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bytes:
    out, end, offset, count = b"", 0, 0, 0
    for found in _CONVERSION.finditer(form):
        out += _plain(form[end : found.start()])
        end = found.end()
        if found.group() == b"%%":
            out += b"%"
            continue
        count += 1
        is_float = found.group(2) in b"eEfgGaA"
        size = 8 if is_float or found.group(1) in (b"ll", b"l") else 4
        offset = -(-offset // size) * size
        raw = m.memory.load(0, np.array([buffer + offset], np.uint64), size, size, thread).tobytes()
        offset += size
        number = ctypes.c_double if is_float else ctypes.c_int64 if size == 8 else ctypes.c_int32
        out += _snprintf(found.group(), number.from_buffer_copy(raw))
    if count > _MOST_VALUES:
        raise SimError(f"vprintf of {count} values; it prints {_MOST_VALUES} at most", thread)
    return out + _plain(form[end:])


def _plain(text: bytes) -> bytes:
    if b"%" in text:
        raise SimError(f"vprintf does not know the conversion in {text!r}")
    return text


def _snprintf(form: bytes, value: object) -> bytes:
    library = ctypes.CDLL(None)
    length = library.snprintf(None, 0, form, value)
    buffer = ctypes.create_string_buffer(length + 1)
    library.snprintf(buffer, length + 1, form, value)
    return buffer.value


def _write(text: bytes) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text.decode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        sys.stdout.flush()
