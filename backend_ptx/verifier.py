"""Check machine IR between passes: what tileir's verifier checks, and what layouts, plan and buffers must agree on.

A stage of the pipeline shows in the IR itself: once some tile has a layout, all need one; once some buffer has its
place in shared memory, all do. So a dump can be checked like the function that it shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.resources.shared import alignment, find_intervals
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.buffers import conflicts
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.layouts.flat import WARP, log2
from tilewright.tileir.printer import op_text
from tilewright.tileir.types import SharedType
from tilewright.tileir.verifier import verify


def verify_machine(c: Compilation) -> None:
    """TileInternalError for a function that is malformed at its stage of the pipeline."""
    verify(c.function)
    results = (value for op in c.function.walk() for value in op.results)
    if any(is_tile(value) and value.type.layout is not None for value in results):
        _verify_layouts(c.function)
    if any(isinstance(op, SharedAlloc) and op.offset >= 0 for op in c.function.walk()):
        _verify_places(c)


def _verify_layouts(function: Function) -> None:
    """Every tile has a layout with the plan's warps, the same one where no op moves elements between threads."""
    for op in function.walk():
        defined = (*op.results, *(value for block in op.blocks for value in block.params))
        for value in filter(is_tile, defined):
            layout = value.type.layout
            if layout is None:
                _fail(op, f"{value!r} has no layout")
            if len(layout.bases(WARP)) != log2(function.plan.warps):
                _fail(op, f"{value!r} has no layout for {function.plan.warps} warps")
        groups: Iterable[Iterable[Value]] = carried(op) if op.blocks else ()
        if op.elementwise:
            groups = [(*op.operands, *op.results)]
        for group in groups:
            if len({value.type.layout for value in group if is_tile(value)}) > 1:
                _fail(op, "its tiles have different layouts")


def _verify_places(c: Compilation) -> None:
    """Every buffer has a layout and a place within the plan's bytes, and none that another needs at the same time."""
    lives = find_intervals(c.function)
    for one in lives:
        type_: SharedType = one.op.type
        if type_.shape and type_.layout is None:
            _fail(one.op, "the buffer has no layout")
        if not 0 <= one.op.offset <= c.plan.shared_bytes - one.size or one.op.offset % alignment(one):
            _fail(one.op, f"{one.size} bytes have no place in {c.plan.shared_bytes} bytes of shared memory")
    for other, one in conflicts(lives):
        _fail(one.op, "another buffer has the same bytes at the same time", op_text(other.op))


def _fail(op: Op, what: str, *more: str) -> NoReturn:
    notes = [text.splitlines()[0] for text in (op_text(op), *more)]
    raise TileInternalError(f"{op.opcode} is malformed: {what}", op.span, notes=notes)
