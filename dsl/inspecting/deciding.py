"""What the compiler decided for a kernel with its arguments, as records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.tileir.analysis.runs import Runs
    from tilewright.tileir.core import Function, Op, Value
    from tilewright.tileir.diagnostics import Span
    from tilewright.tileir.plan import Decision, Hints
    from tilewright.tileir.types import TileType


class Decided(Protocol):
    """What decisions are read off: `inspecting/stages.py` has it."""

    @property
    def target(self) -> Target: ...
    @property
    def hints(self) -> Hints: ...
    def tile_ir(self) -> Function: ...
    def machine_ir(self, observer: Callable[[str, Function], None] | None = None) -> Function: ...


def decisions_of(stages: Decided) -> list[Decision]:
    """What computes products, what passes decided, and how tiles travel. TileError for what does not compile."""
    from tilewright.tileir.plan import Decision, settings

    products: list[Decision] = []

    def look(name: str, function: Function) -> None:
        if name == "select_instructions":  # later passes cut products into steps
            products[:] = _products(function)

    function = stages.machine_ir(look)
    asked = [Decision(name, value, "your hint") for name, value in settings(stages.hints).items()
             if name != "opt_level"]
    made = [*_joined(stages), *function.decisions, *_intervals(function, stages.target)]
    shared = Decision("shared_bytes", function.plan.shared_bytes)
    return [*products, *asked, *made, shared, *_accesses(function)]


def _joined(stages: Decided) -> list[Decision]:
    """Blocks that launches of many of them join to one, of another kernel than this one."""
    from tilewright.launching.joining import joins_of
    from tilewright.tileir.plan import Decision

    joins = joins_of(stages.tile_ir(), stages.target, stages.hints)
    why = "in launches of many, by a kernel of its own: they load what they share once"
    return [Decision("block_join", "x".join(map(str, joins)), why)] if joins else []


def _intervals(function: Function, target: Target) -> list[Decision]:
    """The bound on the initiation interval of each innermost loop, and the pipe that sets it."""
    from tilewright.backend_ptx import decisions
    from tilewright.backend_ptx.resources.pipes import bounds

    return [decisions.initiation_interval(found.cycles, found.pipe, found.loop.span)
            for found in bounds(function, target)]


def _products(function: Function) -> list[Decision]:
    from tilewright.tileir.plan import Decision

    spans = [(text, op.span) for op in function.walk() if (text := _product(op))]
    first, found = dict(reversed(spans)), Counter(text for text, _ in spans)
    return [Decision("product", text + (f", {count} times" if count > 1 else ""), "", first[text])
            for text, count in found.items()]


def _product(op: Op) -> str:
    """The instruction and the shape of a matrix product, "" for other ops."""
    from tilewright.backend_ptx.ops.matmul import Product

    if not isinstance(op, Product):
        return ""
    m, k = op.a.type.shape[-2:]
    return f"{op.unit.describe(op)}, {m}x{op.b.type.shape[-1]}x{k}"


def _accesses(function: Function) -> list[Decision]:
    """How each tile comes from memory or goes there, and whose it is."""
    from tilewright.tileir.analysis.facts import facts
    from tilewright.tileir.analysis.runs import runs
    from tilewright.tileir.ops.memory import Gather, Scatter
    from tilewright.tileir.plan import Decision

    gathers = any(isinstance(op, (Gather, Scatter)) for op in function.walk())
    known = runs(function, facts(function)) if gathers else None
    spans: dict[str, Span] = {}
    for op in function.walk():
        if text := _access(op, known):
            spans.setdefault(text, op.span)
    return [Decision(what, how, "", span) for text, span in spans.items() for what, _, how in [text.partition(": ")]]


def _access(op: Op, known: Runs | None) -> str:
    from tilewright.tileir.engines import GLOBAL
    from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store

    for start in op.effects().starts:
        if start.space is GLOBAL:
            verb = "store to" if start.writes else "gather of" if "indices" in op.fields else "load of"
            return f"{verb} {_name(start.memory)}: {start.engine.family}"
    match op:
        case Load() if op.shape:
            return f"load of {_name(op.array)}: {_width(op, op.result.type)}"
        case Store() if op.value.type.shape:
            return f"store to {_name(op.array)}: {_width(op, op.value.type)}"
        case Gather() if op.shape:
            return f"gather of {_name(op.array)}: {_gathered(op, known)}"
        case Scatter() if op.shape:
            return f"scatter to {_name(op.array)}: {_gathered(op, known)}"
    return ""


def _name(array: Value) -> str:
    """A view without a name has that of the array it is cut from."""
    while not array.hint and array.op is not None and array.op.operands:
        array = array.op.operands[0]
    return array.hint


def _width(op: Any, tile: TileType) -> str:
    """What a thread moves by one instruction where no edge cuts the tile."""
    from tilewright.backend_ptx.layouts.memory import tile_access
    from tilewright.tileir.layouts.queries import vector_along

    access = tile_access(op.array.type, op.order, op.steps, tile.shape)
    vector = min(access.vector, vector_along(tile.layout, access.order[0])) if access.contiguous else 1
    return f"{vector * tile.dtype.bytes} bytes at a time"


def _gathered(op: Any, known: Any) -> str:
    """The same for a gather or scatter, where the index of the dense axis counts up."""
    from tilewright.backend_ptx.layouts.memory import gather_access
    from tilewright.tileir.layouts.queries import vector_along

    access = gather_access(op.array.type, op.shape, tuple(known[i] for i in op.indices))
    vector = min(access.vector, vector_along(op.indices[0].type.layout, access.order[0]))
    return f"{vector * op.array.type.dtype.bytes} bytes at a time"
