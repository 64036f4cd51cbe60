"""Where the tile of a later iteration is, and whether threads can know that early enough to copy it ahead of time.

An index qualifies when it comes from the loop variable and from values that the loop does not change, by operations
that cannot fail in an iteration that never takes place. A gather may need tiles of other arrays for it: these are
loaded one iteration before the copy starts, and wait in registers, in the layout in which the gather wants them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.passes.pipelining.analyses import Analyses
from tilewright.backend_ptx.passes.pipelining.transfers import Address, Fetched
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arith, arrays, convert, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load

# Operations that may be done for an iteration that never comes.
_HARMLESS = (
    arith.Constant, arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max, arith.And, arith.Or, arith.Xor,
    arith.Shl, arith.Shr, arith.Compare, arith.Select, convert.Cast, functions.Neg, functions.Not,
    arrays.AssumeDivisible, arrays.BlockId, arrays.NumBlocks, arrays.Extent, arrays.Stride,
    shape.Iota, shape.Broadcast, shape.Reshape, shape.Permute,
)
_DIVISIONS = (arith.FloorDiv, arith.CeilDiv, arith.Mod)


def harmless(op: Op, known: Facts) -> bool:
    if isinstance(op, _DIVISIONS) and op.rhs.type.dtype.is_int:
        divisor = known[op.rhs].constant
        return divisor is not None and divisor > 0
    return isinstance(op, _HARMLESS)


def change_of_array(loop: For, array: Value, seen: Analyses) -> str | None:
    """Why an array may not be read ahead of time in a loop, None if it may."""
    summary = seen.dependences.summary(loop)
    if summary.ordered or seen.dependences.alias_class(array) in summary.writes:
        return decisions.LOOP_WRITES
    if array in loop.loop.params or any(array in op.results for op in loop.loop.ops):
        return decisions.ARRAY_CHANGES
    return None


def find_address(loop: For, source: Load | Gather, seen: Analyses, taken: Collection[Op] = ()) -> Address | str:
    """What an iteration computes to find the tile of a load or gather of its body, or why that is known too late.

    Loads in `taken` are carried by another engine: nothing can be fetched by them."""
    if isinstance(source, Load):
        found = _collect(loop, source.index, seen, None)
        return found if isinstance(found, str) else _address(loop, [*source.index], found)
    wanted = [*source.indices, *(() if source.mask is None else (source.mask,))]
    fetched: dict[Value, Fetched] = {}
    ops = _collect(loop, wanted, seen, fetched)
    if isinstance(ops, str):
        return ops
    if any(not _may_fetch(loop, f.load, seen) or f.load in taken for f in fetched.values()):
        return decisions.INDEX_TOO_LATE
    places = _collect(loop, [i for f in fetched.values() for i in f.load.index], seen, None)
    return places if isinstance(places, str) else _address(loop, wanted, ops, places, tuple(fetched.values()))


def _address(
    loop: For, wanted: list[Value], ops: Collection[Op], places: Collection[Op] = (), fetched: tuple[Fetched, ...] = (),
) -> Address | str:
    reads = {*wanted, *(v for op in (*ops, *places, *(f.load for f in fetched)) for v in op.operands)}
    if loop.loop.params[0] not in reads:
        return decisions.SAME_TILE
    order = loop.loop.ops
    return Address(tuple(op for op in order if op in ops), tuple(op for op in order if op in places), fetched)


def _collect(
    loop: For, wanted: Iterable[Value], seen: Analyses, fetched: dict[Value, Fetched] | None,
) -> set[Op] | str:
    """The ops of the body that values come from. Loads end the search where `fetched` takes them."""
    body = {r: op for op in loop.loop.ops for r in op.results}
    carried = loop.loop.params[1:]
    chosen = set[Op]()
    work = list(wanted)
    while work:
        value = work.pop()
        if value in carried:
            return decisions.INDEX_CARRIED
        op = body.get(value)
        if op is None or op in chosen:
            continue
        source = op.src.op if isinstance(op, ConvertLayout) else op
        if isinstance(source, Load) and source in loop.loop.ops and fetched is not None:
            fetched[value] = Fetched(value, source)
            continue
        if not (harmless(op, seen.known) or _stays_in_thread(op)):
            return decisions.INDEX_TOO_LATE
        chosen.add(op)
        work += op.operands
    return chosen


def _may_fetch(loop: For, load: Load, seen: Analyses) -> bool:
    """Whether a load may be done for an iteration that never comes."""
    weak = load.memory_order is MemoryOrder.WEAK
    return load.check_bounds and weak and change_of_array(loop, load.array, seen) is None


def _stays_in_thread(op: Op) -> bool:
    if not isinstance(op, ConvertLayout):
        return False
    return plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")
