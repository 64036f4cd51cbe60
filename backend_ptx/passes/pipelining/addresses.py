"""The address of a later iteration's tile, and whether threads know it early enough to prefetch the tile.

An index qualifies if speculatable ops compute it from the loop variable, from loop-invariant values, and from carried
values whose next ones are computed in the same way: such ops cannot fail for an iteration that never executes. A while
loop's condition qualifies likewise; if it does not, copies that check bounds start regardless. Indices may need tiles
and scalars of other arrays (a gather's rows, the page of a load). These are loaded one iteration before the copy
starts, and stay in registers, in the layout that the gather needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.passes.pipelining.transfers import Address, Fetched, RefusalError
from tilewright.tileir.analysis.places import harmless
from tilewright.tileir.analysis.recurrences import computed, find_recurrence
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import Loop, body_of, entries
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.control import For
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

    def is_fetched(value: Value, op: Op) -> bool:
        load = op.src.op if isinstance(op, ConvertLayout) else op
        if isinstance(load, Load) and load in body.ops:
            fetched[value] = Fetched(value, load)
        return value in fetched

    found = computed(body, wanted, early(unit), is_fetched)
    if found is not None and not fetched:
        return Address(found.ops, params=_carried(loop, found.params, unit))
    places = computed(body, [i for f in fetched.values() for i in f.load.index], early(unit))
    loads = (_may_fetch(loop, f.load, unit) and f.load not in taken for f in fetched.values())
    if found is None or places is None or not (isinstance(loop, For) and all(loads)):
        raise RefusalError(decisions.INDEX_TOO_LATE)
    if _carried(loop, {*found.params, *places.params}, unit):
        raise RefusalError(decisions.INDEX_TOO_LATE)
    return Address(found.ops, places.ops, tuple(fetched.values()))


def _carried(loop: Loop, read: Collection[Value], unit: Unit) -> tuple[Value, ...]:
    """The values that the loop carries among the parameters that an address is computed from."""
    if not read:
        raise RefusalError(decisions.SAME_TILE)
    if find_recurrence(loop, read, early(unit)) is None:
        raise RefusalError(decisions.INDEX_CARRIED)
    return tuple(param for param in entries(loop) if param in read) if isinstance(loop, For) else tuple(read)


def early(unit: Unit) -> Callable[[Op], bool]:
    """Whether an op may run for an iteration that never executes."""
    return lambda op: harmless(op, unit.facts) or (isinstance(op, ConvertLayout) and not op.crosses)


def _may_fetch(loop: Loop, load: Load, unit: Unit) -> bool:
    """Whether a load may execute for an iteration that never comes."""
    weak = load.memory_order is MemoryOrder.WEAK
    return load.check_bounds and weak and change_of_array(loop, load.array, unit) is None
