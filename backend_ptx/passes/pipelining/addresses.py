"""The address of a later iteration's tile, and whether threads know it early enough to prefetch the tile.

An index qualifies if speculatable ops compute it from the loop variable, from loop-invariant values, and from carried
values whose next ones are computed in the same way: such ops cannot fail for an iteration that never executes. A while
loop's condition qualifies likewise; if it does not, copies that check bounds start regardless. Indices may need tiles
and scalars of other arrays (a gather's rows, the page of a load). These are loaded one iteration before the copy
starts, and stay in registers, in the layout that the gather needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.passes.pipelining.transfers import Address, Fetched, RefusalError
from tilewright.tileir.analysis.places import harmless
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import Loop, body_of, condition_of, entries
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.iterations import Recurrence
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Gather, Load


def change_of_array(loop: Loop, array: Value, unit: Unit) -> str | None:
    """Why an array may not be prefetched in a loop, None if it may."""
    summary = unit.dependences.summary(loop)
    if summary.ordered or unit.dependences.alias_class(array) in summary.writes:
        return decisions.LOOP_WRITES
    body = body_of(loop)
    if array in body.params or any(array in op.results for op in body.ops):
        return decisions.ARRAY_CHANGES
    return None


def find_address(loop: Loop, source: Load | Gather, unit: Unit, taken: Collection[Op] = ()) -> Address:
    """What an iteration computes for the address of a load or gather of its body; RefusalError if the address is known
    too late.

    Another engine carries the loads in `taken`: indices cannot be prefetched by them."""
    body = body_of(loop)
    if isinstance(source, Load):
        wanted = source.index
    else:
        wanted = (*source.indices, *(() if source.mask is None else (source.mask,)))
    fetched: dict[Value, Fetched] = {}
    ops = collect(body, wanted, unit, fetched)
    if not fetched:
        return _address(loop, wanted, ops, unit)
    early = (_may_fetch(loop, f.load, unit) and f.load not in taken for f in fetched.values())
    if not (isinstance(loop, For) and all(early)):
        raise RefusalError(decisions.INDEX_TOO_LATE)
    indices = [i for f in fetched.values() for i in f.load.index]
    places = collect(body, indices, unit)
    if _address(loop, [*wanted, *indices], ops | places, unit).params:
        raise RefusalError(decisions.INDEX_TOO_LATE)
    return Address(_in_order(body, ops), _in_order(body, places), tuple(fetched.values()))


def _address(loop: Loop, wanted: Collection[Value], ops: set[Op], unit: Unit) -> Address:
    """The address of ops that compute values from the loop variable and from carried values."""
    body = body_of(loop)
    params = _params_read(body, ops, wanted)
    if not params:
        raise RefusalError(decisions.SAME_TILE)
    find_recurrence(loop, params, unit)
    if isinstance(loop, For) and params[0] is body.params[0]:
        del params[0]
    return Address(_in_order(body, ops), params=tuple(params))


def find_recurrence(loop: Loop, params: Collection[Value], unit: Unit) -> Recurrence:
    """How the parameters of the body in a later iteration are computed from those of this one."""
    body, before = body_of(loop), loop.before if isinstance(loop, While) else Block()
    state: dict[Value, None] = {}
    chosen: dict[Block, set[Op]] = {before: set(), body: set()}

    def follow(block: Block, value: Value) -> list[Value]:
        found = collect(block, [value], unit)
        chosen[block] |= found
        return _params_read(block, found, [value])

    work = [*params]
    condition = condition_of(loop).cond if isinstance(loop, While) else None
    if condition is not None:
        try:
            work += follow(before, condition)
        except RefusalError:
            condition = None  # whether the iteration executes is known too late
    try:
        while work:
            param = work.pop()
            if param in state or (isinstance(loop, For) and param is body.params[0]):
                continue
            if isinstance(loop, While) and param in body.params:
                work += follow(before, condition_of(loop).values[body.params.index(param)])
            else:
                state[param] = None
                work += follow(body, body.terminator.operands[entries(loop).index(param)])
    except RefusalError as error:
        raise RefusalError(decisions.INDEX_CARRIED) from error
    return Recurrence(tuple(state), _in_order(before, chosen[before]), _in_order(body, chosen[body]), condition)


def _in_order(block: Block, ops: Collection[Op]) -> tuple[Op, ...]:
    return tuple(op for op in block.ops if op in ops)


def _params_read(block: Block, ops: Collection[Op], values: Collection[Value]) -> list[Value]:
    reads = {*values, *(v for op in ops for v in op.operands)}
    return [p for p in block.params if p in reads]


def collect(block: Block, wanted: Iterable[Value], unit: Unit, fetched: dict[Value, Fetched] | None = None) -> set[Op]:
    """The ops of a block that compute values; RefusalError if some may not execute early. The search stops at loads
    that `fetched` takes."""
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
        if not (harmless(op, unit.facts) or (isinstance(op, ConvertLayout) and not op.crosses)):
            raise RefusalError(decisions.INDEX_TOO_LATE)
        chosen.add(op)
        work += op.operands
    return chosen


def _may_fetch(loop: Loop, load: Load, unit: Unit) -> bool:
    """Whether a load may execute for an iteration that never comes."""
    weak = load.memory_order is MemoryOrder.WEAK
    return load.check_bounds and weak and change_of_array(loop, load.array, unit) is None
