"""Which values differ between the blocks of a chunk, when the blocks differ along some grid axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tileir.analysis.uses import all_reads
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arrays, atomics, control
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import SharedType

Varying = set[Value]
Rule = Callable[[Any, Varying, frozenset[int]], None]


def varying_values(function: Function, axes: frozenset[int]) -> Varying:
    """Values that may differ between blocks that differ along `axes`; the least fixed point over loops."""
    varying: Varying = set()
    if not axes:
        return varying
    size = -1
    while size != len(varying):
        size = len(varying)
        _visit(function.body, varying, axes)
    return varying


def _visit(block: Block, varying: Varying, axes: frozenset[int]) -> None:
    for op in block.ops:
        rule = _RULES.of(op) or _default
        rule(op, varying, axes)


def _default(op: Op, varying: Varying, axes: frozenset[int]) -> None:
    # A shared buffer belongs to one block, whatever its operands are.
    if any(v in varying for v in all_reads(op)) or any(isinstance(r.type, SharedType) for r in op.results):
        varying.update(op.results)
        for body in op.blocks:
            varying.update(body.params)
    for body in op.blocks:
        _visit(body, varying, axes)


def _block_id(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    if op.axis in axes:
        varying.add(op.result)


def _launched_block(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    varying.add(op.result)


def _atomic(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    varying.update(op.results)  # every block finds what the ones before it left


def _for(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    iv, *carried = op.loop.params
    if op.lower in varying or op.step in varying:
        varying.add(iv)
    divergent = op.lower in varying or op.upper in varying or op.step in varying
    _join(carried, op.init, varying)
    _visit(op.loop, varying, axes)
    _join(carried, op.loop.terminator.operands, varying)
    _join(op.results, carried, varying, divergent)


def _while(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    _join(op.before.params, op.init, varying)
    _visit(op.before, varying, axes)
    condition = op.before.terminator
    _join(op.after.params, condition.values, varying)
    _visit(op.after, varying, axes)
    _join(op.before.params, op.after.terminator.operands, varying)
    _join(op.results, condition.values, varying, condition.cond in varying)


def _if(op: Any, varying: Varying, axes: frozenset[int]) -> None:
    for branch in (op.then, op.orelse):
        _visit(branch, varying, axes)
        _join(op.results, branch.terminator.operands, varying, op.cond in varying)


def _join(targets: Any, sources: Any, varying: Varying, divergent: bool = False) -> None:
    for target, source in zip(targets, sources, strict=True):
        if divergent or source in varying:
            varying.add(target)


_RULES: RuleTable[Rule] = RuleTable("values that vary", {
    arrays.BlockId: _block_id, arrays.LaunchedBlock: _launched_block, atomics.AtomicRmw: _atomic,
    atomics.AtomicCas: _atomic, control.For: _for, control.While: _while, control.If: _if,
})
