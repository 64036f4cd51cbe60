"""Bytes of estimates: for the catalogue's kernels those that the interpreter accesses element by element."""

from __future__ import annotations

from collections import Counter

import pytest
from catalogue import (
    atomics,
    clusters,
    control,
    folds,
    gallery,
    hopper,
    loops,
    matmul,
    memory,
    pieces,
    reduction,
    rows,
    special,
    views,
)
from catalogue.case import Case
from support.counted import Recorder

from tilewright.estimating import Bytes, estimate
from tilewright.interp.options import ExecutionOptions
from tilewright.launching.grid import make_grid

MODULES = (memory, control, loops, atomics, reduction, folds, pieces, views, matmul, hopper, clusters, gallery, rows,
           special)


def kernels() -> list[Case]:
    """The first case of each kernel of which not only the arithmetic differs."""
    found: dict[object, Case] = {}
    for module in MODULES:
        for case in module.cases():
            found.setdefault(case.kernel.__qualname__, case)
    return list(found.values())


def as_bytes(counted: Counter[int], size: int) -> Bytes:
    return Bytes(len(counted) * size, len(counted) * size, sum(counted.values()) * size)


@pytest.mark.parametrize("case", kernels(), ids=lambda c: c.name)
def test_equal_what_the_interpreter_accesses(case: Case) -> None:
    args = case.args()
    found = estimate(case.kernel, case.grid, *args, machine=False)
    memory = Recorder()
    arguments = case.kernel.specialiser.bind(args)
    case.kernel.launcher.interpret(make_grid(case.grid), arguments, ExecutionOptions(memory=memory))
    for array in found.arrays:
        size = array.size // max(1, _count(array.shape)) if array.size else 1
        assert array.read == as_bytes(memory.reads.get(array.name, Counter()), size), array.name
        assert array.written == as_bytes(memory.writes.get(array.name, Counter()), size), array.name


def _count(shape: tuple[int, ...]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out
