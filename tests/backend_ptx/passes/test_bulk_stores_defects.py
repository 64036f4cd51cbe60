"""Pieces that leave by TMA: each wait, meeting and fence is needed, and a wrong place or buffer is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.bulk_products import PROGRAMS, SCHEDULES, TARGET, passed, result_of, stores_of

from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import TmaStore, TmaStoreWait
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.ops.warpgroup import ProxyFence
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.tileir.core import Block, Function, Op, clone_function
from tilewright.tileir.printer import to_text


def without(function: Function, kind: type[Op], wanted: Callable[[Any], bool] = lambda op: True) -> None:
    """Remove the ops of a kind for which `wanted` holds."""

    def visit(block: Block) -> None:
        block.ops = [op for op in block.ops if not (isinstance(op, kind) and wanted(op))]
        for op in block.ops:
            for inner in op.blocks:
                visit(inner)

    visit(function.body)


def pairs(function: Function) -> list[tuple[Op, Op]]:
    """Ops that follow each other."""
    blocks = [function.body, *(b for op in function.walk() for b in op.blocks)]
    return [pair for block in blocks for pair in pairwise(block.ops)]


def meetings(function: Function, before: type[Op]) -> None:
    """Remove the barriers right before ops of a kind."""
    without_these(function, [op for op, after in pairs(function) if isinstance(after, before)])


def meetings_after(function: Function, kind: type[Op]) -> None:
    """Remove the first barrier behind each op of a kind: what stands between touches no buffer."""
    blocks = [function.body, *(b for op in function.walk() for b in op.blocks)]
    behind = [block.ops[k + 1:] for block in blocks for k, op in enumerate(block.ops) if isinstance(op, kind)]
    without_these(function, [op for ops in behind for op in [o for o in ops if isinstance(o, Barrier)][:1]])


def without_these(function: Function, ops: list[Op]) -> None:
    """Remove the barriers among some ops."""
    assert any(isinstance(op, Barrier) for op in ops)
    without(function, Barrier, lambda op: op in ops)


def every(function: Function, kind: type[Op], **changes: Any) -> None:
    for op in function.walk():
        if isinstance(op, kind):
            for name, value in changes.items():
                setattr(op, name, value)


def same_place(function: Function) -> None:
    first, second, *_ = stores_of(function)
    second.index = first.index


def same_buffer(function: Function) -> None:
    first, second, *_ = stores_of(function)
    second.buffer = first.buffer


def weaker(function: Function) -> None:
    for op in function.walk():
        if isinstance(op, TmaStoreWait) and op.buffer is not None:
            op.pending += 1


DEFECTS: dict[str, tuple[str, Callable[[Function], None]]] = {
    "no fence": ("plain", lambda f: without(f, ProxyFence)),
    "the warp does not meet before its copy": ("plain", lambda f: meetings(f, TmaStore)),
    "no wait before a buffer is written again": (
        "four pieces", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is not None)),
    "a wait that leaves one copy too many": ("four pieces", weaker),
    "the warp does not meet after a wait": ("four pieces", lambda f: meetings_after(f, TmaStoreWait)),
    "no wait before the next tile": ("persistent", lambda f: without(f, TmaStoreWait, lambda op: op.written)),
    "no wait at the end": (
        "plain", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is None and not op.written)),
    "no wait at the end of a persistent kernel": (
        "persistent", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is None and not op.written)),
    "a piece goes where another belongs": ("plain", same_place),
    "a copy takes another piece's buffer": ("plain", same_buffer),
    "tiles are as far apart as half a piece": ("plain", lambda f: every(f, TmaStore, steps=(64, 32))),
    "only the first warp copies": ("plain", lambda f: every(f, TmaStore, warps=1)),
    "warps meet where the block must": ("turned", lambda f: every(f, Barrier, scope="warp")),
    "the block does not meet after a wait": ("turned", lambda f: meetings_after(f, TmaStoreWait)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_caught(defect: str) -> None:
    name, seed = DEFECTS[defect]
    program = PROGRAMS[name]
    function = clone_function(passed(program))
    before = to_text(function)
    seed(function)
    assert to_text(function) != before
    for how in SCHEDULES:
        try:
            [got] = result_of(program, function, max_steps=50_000, **how)
        except SimError:
            continue
        assert not np.array_equal(got, program.wanted(program.arrays())[0]), f"not caught under {how}"


@pytest.mark.parametrize("how", SCHEDULES)
def test_a_copy_that_belongs_to_no_group_is_caught(how: dict[str, Any]) -> None:
    program = PROGRAMS["plain"]
    code = emit_function(passed(program), TARGET)
    lines = [line for line in code.llvm_text.splitlines() if "cp.async.bulk.commit_group" not in line]
    arrays = program.arrays()
    with pytest.raises(SimError, match="may be reading"):
        simulate_lowered(replace(code, llvm_text="\n".join(lines)), program.grid, arrays, **how)
