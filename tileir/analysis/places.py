"""Where loads read, and whether they and what computes their addresses may run elsewhere."""

from __future__ import annotations

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.memory import Load

FEW = 8  # CTAs of the largest cluster


def same_for_all(index: tuple[Value, ...]) -> bool:
    """Whether all blocks read the tile at this place."""
    return all(isinstance(value.op, arith.Constant) for value in index)


def in_few_places(index: tuple[Value, ...], known: Facts) -> bool:
    """Whether all blocks read the tile at one of few places: parts of a common tile by CTAs of a cluster."""
    return all(known[value].low >= 0 and known[value].high < FEW for value in index)


def harmless(op: Op, known: Facts) -> bool:
    """Whether an op may be computed for an iteration that never executes: it does nothing else and cannot fail."""
    if isinstance(op, arith.FloorDiv | arith.CeilDiv | arith.Mod) and op.rhs.type.dtype.is_int:
        divisor = known[op.rhs].constant
        return divisor is not None and divisor > 0
    return op.speculatable


def may_be_cut(load: Load, axis: int, known: Facts) -> bool:
    """Whether some tile of a load may reach beyond the array along an axis."""
    extent, fact = load.array.type.extents[load.order[axis]], known[load.index[axis]]
    return extent is None or fact.low < 0 or fact.high * load.steps[axis] + load.shape[axis] > extent


def movable_loads(unit: Unit) -> set[Load]:
    """Loads that read the same tile wherever they run: of arrays that the kernel does not write, in a kernel that
    orders no accesses."""
    function, dependences = unit.function, unit.dependences
    summaries = [dependences.summary(op) for op in function.body.ops]
    if any(s.ordered for s in summaries):
        return set()
    written: set[Value] = set().union(*(s.writes for s in summaries))
    loads = (op for op in function.walk() if isinstance(op, Load) and op.shape)
    weak = (op for op in loads if op.memory_order is MemoryOrder.WEAK)
    return {op for op in weak if dependences.alias_class(op.array) not in written}


def late_loads(unit: Unit, hoisted: bool = False) -> set[Load]:
    """Loads of tiles that all blocks read at one of few places, beside reductions that do not need them: the weights of
    a norm. Each part of such a tile may be read where it is used. `hoisted`: those before loops that reduce, too."""
    ops = list(unit.function.walk())
    reducing = [op for op in ops if op.reduces]
    needed, work = set[Value](), [v for op in reducing for v in op.operands]
    while work:
        value = work.pop()
        if value not in needed:
            needed.add(value)
            work += value.op.operands if value.op is not None else ()
    beside = {unit.homes[op] for op in reducing} | ({unit.function.body} if hoisted else set())
    if not beside:
        return set()
    return {op for op in ops if isinstance(op, Load) and op.shape and op.result not in needed
            and unit.homes[op] in beside and in_few_places(op.index, unit.facts)}
