"""Kernels that only add up products, or multiply what they compute of products: what allows one block to follow
another without a wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.moved import source_of
from tilewright.tileir.analysis.shared_reads import is_ordered, is_uneven
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load


def only_adds_up(
    unit: Unit, products: Collection[Any], fed: Collection[Op], length: int, gathers: bool, chained: bool,
    falling: bool,
) -> bool:
    """Whether each product adds to what its counted loop carries, where all loads are `fed` by others than the threads,
    and have rows that are multiples of `length` elements; and whether the order of blocks means nothing. With
    `gathers` threads may gather beside such loads; with `chained` some products may be of operands that are computed of
    others (attention's weights), and do anything with their sums, if `falling` in fewer and fewer iterations."""
    loops: Mapping[Any, list[Op]] = {op: unit.around(op) for op in products}
    computed = chained and _multiplies_products(unit, products)
    return bool(products) and not (is_ordered(unit) or (is_uneven(unit) and not (computed and falling))) and all(
        found and all(isinstance(loop, For) for loop in found)
        and (computed or _summed(op, products) in found[0].blocks[0].params)
        and any(load in fed for load in found[-1].inside())
        and all((gathers and isinstance(load, Gather)) or (load in fed and load.array.type.rows_are_multiples(length))
                for load in found[-1].inside() if isinstance(load, Load | Gather))
        for op, found in loops.items())


def _summed(op: Any, products: Collection[Any]) -> Value:
    """What a product adds to, which others may add to before it."""
    while op.acc.op in products:
        op = op.acc.op
    value: Value = op.acc
    return value


def _multiplies_products(unit: Unit, products: Collection[Any]) -> bool:
    """Whether some products are of operands that are computed of others, and all loaded tiles are operands: others,
    such as the rows of a gradient, threads wait for at the start of a block."""
    results, operands = {op.result for op in products}, [v for op in products for v in (op.a, op.b)]
    loads = {op for op in unit.function.walk() if isinstance(op, Load | Gather) and is_tile(op.results[0])}
    return loads <= {source_of(v)[0].op for v in operands} and not results.isdisjoint(origins(operands, unit.parents))
