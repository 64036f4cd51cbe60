"""The address of a later iteration's tile, and whether threads know it early enough to prefetch the tile.

An index qualifies if speculatable ops compute it from the loop variable, from loop-invariant values, and from carried
values whose next ones are computed in the same way: such ops cannot fail for an iteration that never executes. A while
loop's condition qualifies likewise; if it does not, copies that check bounds start regardless. A gather's indices may
need tiles of other arrays. These are loaded one iteration before the copy starts, and stay in registers, in the layout
that the gather needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.passes.pipelining.analyses import Analyses
from tilewright.backend_ptx.passes.pipelining.loops import Loop, body_of, condition_of, entries
from tilewright.backend_ptx.passes.pipelining.transfers import Address, Fetched, Recurrence
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Gather, Load


def harmless(op: Op, known: Facts) -> bool:
    if isinstance(op, arith.FloorDiv | arith.CeilDiv | arith.Mod) and op.rhs.type.dtype.is_int:
        divisor = known[op.rhs].constant
        return divisor is not None and divisor > 0
    return op.speculatable


def change_of_array(loop: Loop, array: Value, seen: Analyses) -> str | None:
    """Why an array may not be prefetched in a loop, None if it may."""
    summary = seen.dependences.summary(loop)
    if summary.ordered or seen.dependences.alias_class(array) in summary.writes:
        return decisions.LOOP_WRITES
    body = body_of(loop)
    if array in body.params or any(array in op.results for op in body.ops):
        return decisions.ARRAY_CHANGES
    return None


def find_address(loop: Loop, source: Load | Gather, seen: Analyses, taken: Collection[Op] = ()) -> Address | str:
    """What an iteration computes for the address of a load or gather of its body, or why the address is known too late.

    Another engine carries the loads in `taken`: indices cannot be prefetched by them."""
    body = body_of(loop)
    if isinstance(source, Load):
        found = collect(body, source.index, seen)
        return found if isinstance(found, str) else _address(loop, [*source.index], found, seen)
    wanted = [*source.indices, *(() if source.mask is None else (source.mask,))]
    fetched: dict[Value, Fetched] = {}
    ops = collect(body, wanted, seen, fetched)
    if isinstance(ops, str):
        return ops
    if not fetched:
        return _address(loop, wanted, ops, seen)
    early = (_may_fetch(loop, f.load, seen) and f.load not in taken for f in fetched.values())
    if not (isinstance(loop, For) and all(early)):
        return decisions.INDEX_TOO_LATE
    places = collect(body, [i for f in fetched.values() for i in f.load.index], seen)
    if isinstance(places, str):
        return places
    made = _address(loop, [*wanted, *(i for f in fetched.values() for i in f.load.index)], ops | places, seen)
    if isinstance(made, str) or made.params:
        return made if isinstance(made, str) else decisions.INDEX_TOO_LATE
    own, theirs = (tuple(op for op in body.ops if op in part) for part in (ops, places))
    return Address(own, theirs, tuple(fetched.values()))


def _address(loop: Loop, wanted: list[Value], ops: set[Op], seen: Analyses) -> Address | str:
    """The address of ops that compute values from the loop variable and from carried values."""
    body = body_of(loop)
    reads = {*wanted, *(v for op in ops for v in op.operands)}
    params = tuple(p for p in body.params if p in reads)
    if not params:
        return decisions.SAME_TILE
    recurrence = find_recurrence(loop, params, seen)
    if isinstance(recurrence, str):
        return recurrence
    variable = params[:1] if isinstance(loop, For) and params[0] is body.params[0] else ()
    return Address(tuple(op for op in body.ops if op in ops), params=params[len(variable):])


def find_recurrence(loop: Loop, params: Collection[Value], seen: Analyses) -> Recurrence | str:
    """How the parameters of the body in a later iteration are computed from those of this one."""
    body, before = body_of(loop), loop.before if isinstance(loop, While) else Block()
    state: dict[Value, None] = {}
    head, steps = set[Op](), set[Op]()
    condition = condition_of(loop).cond if isinstance(loop, While) else None
    work = [*params]
    if condition is not None:
        found = collect(before, [condition], seen)
        if isinstance(found, str):
            condition = None  # whether the iteration executes is known too late
        else:
            head |= found
            work += _params_read(before, found, [condition])
    while work:
        param = work.pop()
        if param in state or (isinstance(loop, For) and param is body.params[0]):
            continue
        if isinstance(loop, While) and param in body.params:
            block, chosen, value = before, head, condition_of(loop).values[body.params.index(param)]
        else:
            state[param] = None
            block, chosen, value = body, steps, body.terminator.operands[entries(loop).index(param)]
        found = collect(block, [value], seen)
        if isinstance(found, str):
            return decisions.INDEX_CARRIED
        chosen |= found
        work += _params_read(block, found, [value])
    first, rest = (tuple(op for op in b.ops if op in chosen) for b, chosen in ((before, head), (body, steps)))
    return Recurrence(tuple(state), first, rest, condition)


def _params_read(block: Block, ops: Collection[Op], values: Collection[Value]) -> list[Value]:
    reads = {*values, *(v for op in ops for v in op.operands)}
    return [p for p in block.params if p in reads]


def collect(
    block: Block, wanted: Iterable[Value], seen: Analyses, fetched: dict[Value, Fetched] | None = None,
) -> set[Op] | str:
    """The ops of a block that compute values. The search stops at loads that `fetched` takes."""
    inside = {r: op for op in block.ops for r in op.results}
    chosen = set[Op]()
    work = list(wanted)
    while work:
        value = work.pop()
        op = inside.get(value)
        if op is None or op in chosen:
            continue
        source = op.src.op if isinstance(op, ConvertLayout) else op
        if isinstance(source, Load) and source in block.ops and fetched is not None:
            fetched[value] = Fetched(value, source)
            continue
        if not (harmless(op, seen.known) or _stays_in_thread(op)):
            return decisions.INDEX_TOO_LATE
        chosen.add(op)
        work += op.operands
    return chosen


def _may_fetch(loop: Loop, load: Load, seen: Analyses) -> bool:
    """Whether a load may execute for an iteration that never comes."""
    weak = load.memory_order is MemoryOrder.WEAK
    return load.check_bounds and weak and change_of_array(loop, load.array, seen) is None


def _stays_in_thread(op: Op) -> bool:
    if not isinstance(op, ConvertLayout):
        return False
    return plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")
