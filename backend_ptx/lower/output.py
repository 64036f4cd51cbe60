"""Printing and assertions: thread 0 of a CTA calls the driver's `vprintf`; a failed assertion ends in a trap.

`vprintf` takes a format and a buffer of values laid out as C passes them: 32-bit integers, 64-bit integers and doubles,
each at a multiple of its size. One call takes at most 32 values (CUDA C++ Programming Guide, formatted output) and
comes out in one piece. A print with more takes a lock, so that other blocks' text does not come between its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.access import elem_bytes, from_memory, memory_elem
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import SPACE, SYMBOL, SharedRef
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import output as ops

MOST_VALUES = 32
_LOCK, _FAILED = "@print_lock", "@assertion_failed"

# A format and the values that it takes.
Piece = tuple[str, list[Val]]


@lower(ops.Print)
def print_(ctx: Context, op: ops.Print) -> None:
    b = ctx.b
    prints = (other for other in ctx.function.walk() if isinstance(other, ops.Print))
    locked = any(sum(v.type.size for v in other.values) > MOST_VALUES for other in prints)
    with b.when(ctx.is_first(), "print"):
        if locked:
            _acquire(b)
        for text, values in _pieces(ctx, op, op.texts):
            _call(ctx, text, values)
        if locked:
            _release(b)


@lower(ops.Assert)
def assert_(ctx: Context, op: ops.Assert) -> None:
    """Of all blocks that fail the first one writes, then traps, which ends the launch; the others just leave."""
    b = ctx.b
    failed, thread, report, leave, held = (b.label(n) for n in ("failed", "first", "report", "leave", "held"))
    b.cbr(ctx[op.cond], held, failed)
    b.start(failed)
    b.cbr(ctx.is_first(), thread, leave)
    b.start(thread)
    b.cbr(b.icmp("eq", _exchange(b, _FAILED, 1), 0), report, leave)
    b.start(report)
    for text, values in _pieces(ctx, op, op.lines):
        _call(ctx, text, values)
    b.raw(b.called("llvm.trap", "void", []))
    b.raw("unreachable")
    b.start(leave)
    b.ret()
    b.start(held)


# ---- text and values ------------------------------------------------------------------------------------------------


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _pieces(ctx: Context, op: ops.Print | ops.Assert, texts: Sequence[str]) -> Iterator[Piece]:
    """The whole text in calls of at most MOST_VALUES values."""
    text, values = _literal(texts[0]), list[Val]()
    for value, form, after in zip(op.values, op.formats, texts[1:], strict=True):
        element, form = _elements(ctx, value), _c_format(form, value.type.dtype)
        around = ops.brackets(value.type.shape)
        text += around[0]
        for number, between in enumerate(around[1:]):
            if len(values) == MOST_VALUES:
                yield text, values
                text, values = "", []
            values.append(_argument(ctx.b, element(number), value.type.dtype))
            text += form + between
        text += _literal(after)
    if text:
        yield text, values


def _c_format(form: str, dtype: DType) -> str:
    """The conversion with its length. The device's printf has no %F, which differs in inf and nan alone."""
    letter = "f" if form[-1] == "F" else form[-1]
    return form[:-1] + ("ll" if dtype.is_int and dtype.bitwidth == 64 else "") + letter


def _elements(ctx: Context, value: Value) -> Callable[[int], Val]:
    """Element k of a value in row-major order, as thread 0 gets it."""
    b, fragment = ctx.b, ctx[value]
    if not isinstance(fragment, SharedRef):
        scalar: Val = fragment
        return lambda number: scalar
    elem = elem_of(fragment.type.dtype)
    size = elem_bytes(elem)

    def load(number: int) -> Val:
        pointer = b.gep(Val(SPACE, 0, SYMBOL), fragment.offset + number * size)
        return from_memory(b, b.load(memory_elem(elem), 0, pointer, size), elem)

    return load


def _argument(b: Builder, value: Val, dtype: DType) -> Val:
    """A value as C passes it to printf. A NaN loses its sign, which differs between processors."""
    if dtype.is_float:
        double = b.cast("fpext", value, "double")
        return b.select(b.fcmp("uno", double, double), float("nan"), double)
    if dtype.bitwidth == 64:
        return value
    return b.cast("sext" if dtype.is_int and dtype.is_signed else "zext", value, "i32")


def _call(ctx: Context, text: str, values: list[Val]) -> None:
    b = ctx.b
    buffer = ctx.once("printed values", lambda p: p.emit("ptr", 0, f"alloca [{8 * MOST_VALUES} x i8], align 8"))
    offset = 0
    for value in values:
        size = 4 if value.elem == "i32" else 8
        offset = -(-offset // size) * size
        b.store(value, b.gep(buffer, offset), size)
        offset += size
    b.call("vprintf", "i32", [_string(ctx, text), buffer])


def _string(ctx: Context, text: str) -> Val:
    """A generic pointer to a constant string; equal ones are one."""
    data = text.encode() + b"\0"
    names: dict[bytes, str] = ctx.memo.setdefault("strings", {})
    if data not in names:
        names[data] = f"@text{len(names)}"
        shown = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
        ctx.b.add_global(f'{names[data]} = internal addrspace(1) constant [{len(data)} x i8] c"{shown}", align 1')
    return ctx.b.emit("ptr", 0, f"addrspacecast ptr addrspace(1) {names[data]} to ptr")


# ---- one at a time --------------------------------------------------------------------------------------------------


def _exchange(b: Builder, name: str, value: int) -> Val:
    b.add_global(f"{name} = internal addrspace(1) global i32 0, align 4")
    return b.emit("i32", 0, f"atomicrmw xchg ptr addrspace(1) {name}, i32 {value} monotonic")


def _acquire(b: Builder) -> None:
    spin, got = b.label("wait"), b.label("locked")
    b.br(spin)
    b.start(spin)
    b.cbr(b.icmp("eq", _exchange(b, _LOCK, 1), 0), got, spin)
    b.start(got)
    instruction("fence.acq_rel.gpu").emit(b)


def _release(b: Builder) -> None:
    instruction("fence.acq_rel.gpu").emit(b)
    _exchange(b, _LOCK, 0)
