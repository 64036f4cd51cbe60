"""Long straight kernels: what the compiler compares grows no faster than the kernel, and the code is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.llvm.builder import BASE_USES
from tilewright.backend_ptx.passes.barriers.hazards import Hazards
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import get_target
from tilewright.frontend import translate
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline

TILE = 32


@tw.tile_kernel
def shift(x, y, n: tw.Constant[int]):
    first = tw.bid(0) * n
    for i in tw.static_iter(range(n)):
        tw.store(y, (first + i,), tw.load(x, (first + i,), (TILE,)) + 1.0)


def translated(n: int) -> Function:
    array = tw.spec("f32[65536]")
    function = translate(shift.__wrapped__, shift.arg_specs(array, array, n))
    run_pipeline(function)
    return function


def test_barriers_compare_each_access_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    between = Hazards.between

    def counted(self: Hazards, *accesses: Any) -> Any:
        asked.append(accesses)
        return between(self, *accesses)

    monkeypatch.setattr(Hazards, "between", counted)
    counts = []
    for n in (50, 200):
        asked.clear()
        run_passes(translated(n), get_target("sm_90a"))
        counts.append(len(asked))
    assert 0 < counts[1] <= 4 * counts[0] + 16


def test_accesses_counted_from_copies_of_the_base_are_right() -> None:
    """From BASE_USES accesses on LLVM sees another base: the copy reaches the text, and the addresses are the same."""
    n = 2 * BASE_USES + 10
    x = np.arange(2 * n * TILE, dtype=np.float32)
    y = np.zeros_like(x)
    lowered = simulate(shift, (2,), (x, y, n), "sm_90a")
    assert "mov.b64" in lowered.llvm_text
    assert np.array_equal(y, x + 1)


ARRAYS = "%a: array<?xf32, strides=1, disjoint>, %b: array<?xf32, strides=1, disjoint>, %c: i32, %n: i32, %q: i1"
AT = "shape=(16), steps=(16), order=(0)"


def branch(array: str) -> str:
    return f"""if(cond=%q) .then {{
    store(array={array}, index=(%c), value=%x, steps=(16), order=(0))
    yield(values=())
  }} .orelse {{
    yield(values=())
  }}"""


@pytest.mark.parametrize(("inside", "loads"), [
    ("", 1),  # nothing between: one load serves both
    ("store(array=%b, index=(%c), value=%x, steps=(16), order=(0))", 1),  # another array
    ("store(array=%a, index=(%c), value=%x, steps=(16), order=(0))", 2),
    (branch("%a"), 2),
    (branch("%b"), 1),
])
def test_a_load_is_shared_until_its_memory_is_written(inside: str, loads: int) -> None:
    function = parse(f"""
func @k({ARRAYS}) {{
  %x: tile<16xf32> = load(array=%a, index=(%n), {AT})
  {inside}
  %y: tile<16xf32> = load(array=%a, index=(%n), {AT})
  %s: tile<16xf32> = add(lhs=%x, rhs=%y)
  store(array=%b, index=(%n), value=%s, steps=(16), order=(0))
  return()
}}
""")
    run_pipeline(function)
    assert sum(isinstance(op, Load) for op in function.walk()) == loads
