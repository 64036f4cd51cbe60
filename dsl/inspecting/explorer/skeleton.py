"""The skeleton of a kernel: which memory each block accesses, without the values that it computes.

Before:                                     After:

    %x = load(array=%a, index=(%i, %k))         store(array=%a, index=(%i, %k), value=%zeros)
    %y = mma(%x, ...)
    %t = load(array=%starts, index=(%b))        %t = load(array=%starts, index=(%b))
    store(array=%c, index=(%t, %j), value=%y)   store(array=%c, index=(%t, %j), value=%zeros)

What decides where and whether an access happens stays: indices, masks, conditions, and the loads that these come from.
A load whose values decide nothing becomes a store of zeros, which dead-code removal keeps; whoever runs the skeleton
performs only the accesses in `real`. A matrix product of large arrays then takes no longer than its loop of indices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import condition_of, origins
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType

DATA = ("value", "padding", "expected", "desired")
"""Operands of accesses that say what is written or given, not where."""
Access = Load | Store | Gather | Scatter | Atomic


@dataclass
class Skeleton:
    """`kinds`: what each access of the function was before: "read", "write" or "update"; `real`: those to perform;
    `decides`: the positions of the parameters whose contents decide where accesses go; `serial`: whether the kernel
    writes such contents itself, so that blocks must run one after another."""

    function: Function
    kinds: dict[Op, str] = field(default_factory=dict)
    real: set[Op] = field(default_factory=set)
    decides: frozenset[int] = frozenset()
    serial: bool = False


def skeleton(function: Function) -> Skeleton:
    """Turn a Tile IR function, which is changed, into its skeleton."""
    out = Skeleton(function)
    needed, contents = _needed(Unit(function))
    dependences = Unit(function).dependences
    out.decides = frozenset().union(*(dependences.parameters(array) for array in contents))

    def keep(rewriter: Rewriter, op: Op) -> None:
        _become(rewriter, op, out, needed, {dependences.alias_class(array) for array in contents}, dependences)

    rewrite(function, keep)
    dce(Unit(function))
    out.serial = any(isinstance(op, Store | Scatter | Atomic) for op in out.real)
    return out


def _needed(unit: Unit) -> tuple[set[Value], set[Value]]:
    """The values that decide where and whether accesses happen, and the arrays in whose contents they are found."""
    dependences, parents = unit.dependences, unit.parents
    accesses: list[Any] = [op for op in unit.function.walk() if isinstance(op, Access)]
    seeds = [value for op in unit.function.walk() for value in _deciding(op)]
    while True:
        needed = set(origins(seeds, parents))
        contents = {op.array for op in accesses if op.results and op.results[0] in needed}
        classes = {dependences.alias_class(array) for array in contents}
        written = [v for op in accesses if not isinstance(op, Load | Gather)
                   and dependences.alias_class(op.array) in classes for v in op.operands]
        if needed.issuperset(written):
            return needed, contents
        seeds += written


def _deciding(op: Op) -> list[Value]:
    """What an op is told of where an access goes, or whether anything happens."""
    match op:
        case Load() | Store() | Gather() | Scatter() | Atomic():
            data = {id(getattr(op, name, None)) for name in DATA}
            return [value for value in op.operands if id(value) not in data]
        case For():
            return [op.lower, op.upper, op.step]
        case If():
            return [op.cond]
        case While():
            return [condition_of(op).cond]
    return []


def _become(
    rewriter: Rewriter, op: Op, out: Skeleton, needed: set[Value], classes: set[Value], dependences: Any
) -> None:
    """Append what stands for an op in the skeleton."""
    if not isinstance(op, Access):
        if not (op.effectful and op.effects().io):
            rewriter.keep(op)
        return
    kind = "read" if isinstance(op, Load | Gather) else "write" if isinstance(op, Store | Scatter) else "update"
    real = op.results[0] in needed if kind == "read" else dependences.alias_class(op.array) in classes
    made: Op = op
    if not real:
        tile = op.results[0].type if op.results else op.value.type  # type: ignore[union-attr]
        zeros = rewriter.value(Constant(value=_zero(tile), type=TileType(tile.dtype, tile.shape)))
        made = _stand_in(op, zeros)
        for result in op.results:
            rewriter.replace(result, zeros)
    rewriter.keep(made)
    out.kinds[made] = kind
    if real:
        out.real.add(made)


def _stand_in(op: Any, zeros: Value) -> Op:
    """A store to where an access goes."""
    made: Op
    if isinstance(op, Load | Store):
        made = Store(array=op.array, index=op.index, value=zeros, steps=op.steps, order=op.order,
                     check_bounds=op.check_bounds)
    else:
        made = Scatter(array=op.array, indices=op.indices, value=zeros, mask=op.mask, shape=op.shape,
                       check_bounds=op.check_bounds)
    made.span = op.span
    return made


def _zero(tile: TileType) -> bool | int | float:
    return False if tile.dtype.is_bool else 0.0 if tile.dtype.is_float else 0
