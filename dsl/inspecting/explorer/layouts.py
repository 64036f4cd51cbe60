"""Layouts as the page draws them: which thread holds an element of a tile, and where shared memory has it.

Everything is said by basis vectors, from which the page's script computes each element: a bit of the register, lane,
warp or offset that is set contributes its vector to the index, by XOR.
"""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx.layouts.matrices import movement
from tilewright.backend_ptx.layouts.shared import bank_conflicts
from tilewright.backend_ptx.ops.shared import BufferAccess, SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.ops.warpgroup import SharedView
from tilewright.backend_ptx.targets import Target
from tilewright.inspecting.explorer.places import Numbering, chain_of
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.engines import Issuer
from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import access_vector, offset_bases
from tilewright.tileir.layouts.flat import LANE, OFFSET, REGISTER, WARP
from tilewright.tileir.types import SharedType, TileType

LANES = 32


def tiles(function: Function, number: Numbering) -> list[dict[str, Any]]:
    """The layouts of a machine function's tiles, the largest first, each with the values that have it."""
    found: dict[Layout, dict[str, Any]] = {}
    for value, op in _values(function):
        type_ = value.type
        if not isinstance(type_, TileType) or type_.layout is None or type_.size == 1:
            continue
        layout = type_.layout
        entry = found.setdefault(layout, {
            "shape": list(layout.shape), "register": layout.bases(REGISTER), "lane": layout.bases(LANE),
            "warp": layout.bases(WARP), "values": []})
        entry["values"].append({"name": _name(value, op), "type": str(type_.erased()),
                                "at": number(chain_of(op.span)) if op is not None else -1})
    return sorted(found.values(), key=lambda entry: -_size(entry["shape"]))


def buffers(function: Function, target: Target, number: Numbering) -> list[dict[str, Any]]:
    """The buffers of tiles in shared memory, each with the accesses of it."""
    found: dict[Value, dict[str, Any]] = {}
    for op in function.walk():
        if isinstance(op, SharedAlloc) and op.type.shape and op.type.layout is not None:
            found[op.result] = {
                "name": _name(op.result, op), "type": str(op.type), "shape": list(op.type.shape),
                "copies": op.type.copies, "bytes": op.type.dtype.bytes, "start": op.offset,
                "offset": op.type.layout.bases(OFFSET), "at": number(chain_of(op.span)), "accesses": []}
        if isinstance(op, SharedView) and op.buffer in found:
            found[op.result] = found[op.buffer]
            continue
        for value in dict.fromkeys(op.operands):
            if value in found and not isinstance(op, SharedAlloc):
                made = {**access(op, value.type, target), "at": number(chain_of(op.span))}
                if made not in found[value]["accesses"]:
                    found[value]["accesses"].append(made)
    return list({id(entry): entry for entry in found.values()}.values())


def access(op: Op, buffer: SharedType, target: Target) -> dict[str, Any]:
    """How an op accesses a buffer. By threads: the bytes that a lane moves at once, where in the buffer each lane of
    warp 0 does so first, how many lanes the banks serve together, and the extra wavefronts that conflicts cost."""
    layout = _thread_layout(op, buffer)
    if layout is None or buffer.layout is None:
        engine = next((start.engine.name for start in op.effects().starts if start.memory.type == buffer), "threads")
        return {"what": op.opcode, "how": f"by {engine}" if engine != "threads" else "by threads, one by one"}
    size = buffer.dtype.bytes
    rows, how = _moved(op, buffer.layout, layout, size, target)
    vector, _ = access_vector(buffer.layout, rows, size)
    lane = offset_bases(buffer.layout, rows).lane
    width = vector * size
    return {
        "what": op.opcode, "how": how or f"{width} bytes a lane", "width": width,
        "lanes": [offset * size for offset in span([*lane, *[0] * (5 - len(lane))])],
        "group": min(LANES, LANES * 4 // max(width, 4)), "conflicts": bank_conflicts(buffer.layout, rows, size)}


def _thread_layout(op: Op, buffer: SharedType) -> Layout | None:
    """The layout in threads of what an op moves, as a map to the indices of the whole buffer."""
    if isinstance(op, SharedLoad):
        layout: Layout | None = op.result.type.layout
    else:
        whole = any(start.engine.issuer is not Issuer.THREAD for start in op.effects().starts)
        layout = op.thread_layout if isinstance(op, BufferAccess) and not whole else None
    return layout if layout is None or layout.shape == buffer.shape else Layout(layout.dims, buffer.shape)


def _moved(op: Op, shared: Layout, layout: Layout, size: int, target: Target) -> tuple[Layout, str]:
    """The layout of the addresses of an access, as lowering chooses it, and the instruction if it has a name."""
    if starts := op.effects().starts:
        return layout, starts[0].engine.name
    stores = isinstance(op, SharedStore)
    found = movement(shared, layout, size, target.has_stmatrix or not stores)
    matrices = found.plan.called("stmatrix" if stores else "ldmatrix") if found.plan is not None else ""
    turned = "pairs, in half of the lanes the second one first" if found.turn is not None else ""
    return found.rows, ", ".join(filter(None, (matrices, turned)))


def _values(function: Function) -> list[tuple[Value, Op | None]]:
    out: list[tuple[Value, Op | None]] = []
    for op in function.walk():
        out += [(value, op) for value in op.results]
        out += [(value, op) for block in op.blocks for value in block.params]
    return out


def _name(value: Value, op: Op | None) -> str:
    return value.hint or (op.opcode if op is not None else "?")


def _size(shape: list[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out
