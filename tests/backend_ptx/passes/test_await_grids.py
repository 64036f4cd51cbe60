"""Where kernels wait for earlier grids (the hint `programmatic_dependent_launch`), and what they say of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from matmul import matmul
from support.decisions import told

import tilewright as tw
from tilewright.backend_ptx.ops.grids import GridWait, LaunchDependents
from tilewright.tileir.analysis.first_access import first_access


@tw.tile_kernel
def add(x, y, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, n) + tw.load(y, i, n))


@tw.tile_kernel
def sometimes(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    total = tw.zeros((n,), tw.float32)
    if i > 2:
        for j in range(i):
            total += tw.load(x, j, n)
    tw.store(out, i, total)


@tw.tile_kernel
def fill(out, value, n: tw.Constant[int]):
    print("filling")
    tw.store(out, tw.bid(0), tw.full((n,), value, tw.float32))


@tw.tile_kernel
def nothing(x):
    pass


F32, BF16 = "f32[1000]", "bf16[256,256]"
CASES: dict[str, tuple[Any, tuple[Any, ...], str | None]] = {
    "add": (add, (F32, F32, F32, 256), "load"), "branch": (sometimes, (F32, F32, 64), "load"),
    "output": (fill, (F32, 2.0, 64), "print"), "nothing": (nothing, (F32,), None),
    "product": (matmul, (BF16, BF16, "f32[256,256]", 128, 128, 64), "tma_load"),
}


def made(name: str, target: str = "sm_90a") -> Any:
    kernel, args, _ = CASES[name]
    specs = [tw.spec(a) if isinstance(a, str) else a for a in args]
    return kernel.replace_hints(programmatic_dependent_launch=True).lower(*specs, target=target)


@pytest.mark.parametrize("name", CASES)
def test_the_wait_stands_before_the_first_access_where_every_thread_comes(name: str) -> None:
    f = made(name).machine_ir()
    waits = [i for i, op in enumerate(f.body.ops) if isinstance(op, GridWait)]
    assert len(waits) == 1 and sum(isinstance(op, (GridWait, LaunchDependents)) for op in f.walk()) == 2
    position, access = first_access(f)
    assert position == waits[0] + 1 if access else waits == [len(f.body.ops) - 3]
    assert isinstance(f.body.ops[-2], LaunchDependents)
    assert (access and access.opcode) == CASES[name][2] and f.plan.dependent
    where = "before the" if access else "at its end"
    assert told(f, "dependent_launch").startswith(f"waits for earlier grids ({where}")


@pytest.mark.parametrize("name", ["add", "branch", "product"])
def test_no_access_of_the_ptx_stands_before_the_wait(name: str) -> None:
    """Nor may LLVM move one there: loads have no promise that memory does not change."""
    text = made(name).compiled.ptx
    parts = re.split(r"griddepcontrol\.wait;", text)
    assert len(parts) == 2 + (name == "product")
    assert not re.search(r"\.global|cp\.async", parts[0].split("{", 1)[1])
    assert "ld.global.nc" not in text and ("ld.global" in text or name == "product")


@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
def test_targets_without_the_instruction(target: str) -> None:
    f = made("add", target).machine_ir()
    assert not f.plan.dependent and not any(isinstance(op, GridWait) for op in f.walk())
    assert told(f, "dependent_launch") == f"no effect ({target} has no griddepcontrol)"


def test_other_kernels_stay_as_they_are() -> None:
    assert "griddepcontrol" not in add.ptx(*[tw.spec(F32)] * 3, 256, target="sm_90a")
