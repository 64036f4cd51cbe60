"""`tw.compare`: seeded defects of the compiler are found, at the op or the pass; correct kernels have none."""

from __future__ import annotations

import ctypes
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.compiler_defects import (
    ARGS,
    DEFECTS,
    Defect,
    after,
    casts,
    chain,
    first,
    given,
    halving,
    integers,
    product,
    running,
)

import tilewright as tw
from tilewright.arguments.arrays import numpy_dtype
from tilewright.backend_ptx.runtime import build as runtime_build
from tilewright.backend_ptx.targets import get_target
from tilewright.cli.main import main
from tilewright.comparing.sides import interpret
from tilewright.launching import device_plans, host
from tilewright.tileir.ops import arith, control, math
from tilewright.tileir.passes import pipeline
from tilewright.tileir.passes.manager import PassManager

THOROUGH = os.environ.get("TILEWRIGHT_THOROUGH") == "1"
ALWAYS = ("mask of a gather", "ties of an argmax", "indices of an argmax", "axes of a store", "sign of a comparison",
          "rounding of a root", "what a loop carries", "last trip of a pipelined loop")


def run(kernel: Any, a: Any, b: Any = "interpreter", **options: Any) -> tw.Comparison:
    grid, make = ARGS[kernel]
    return tw.compare(kernel, grid, *make(), a=a, b=b, **options)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_a_defect_is_found(defect: Defect) -> None:
    if defect.name not in ALWAYS and not THOROUGH:
        pytest.skip("TILEWRIGHT_THOROUGH=1, make compare-seeded")
    side = f"simulator:{defect.target}"
    if THOROUGH:
        assert run(defect.kernel, side).equal
    with defect.seed():
        found = run(defect.kernel, side)
    assert not found.equal
    assert found.first is not None
    assert {found.first.op, found.made_by, getattr(found.error, "kind", "")} & set(defect.found), str(found)
    assert found.first.span.line > 0


def test_there_are_thirty_defects_of_each_kind() -> None:
    assert len(DEFECTS) >= 30
    assert {name for name in ALWAYS} <= {defect.name for defect in DEFECTS}


@pytest.mark.parametrize("side", ["simulator:sm_80", "simulator:sm_90a", "machine:sm_90a", "frontend",
                                  "interpreter:single"])
def test_a_correct_kernel_is_equal(side: str) -> None:
    for kernel in (integers, running, halving):
        found = run(kernel, side)
        assert found.equal and found.exact, str(found)


def test_two_targets_and_two_functions_within_their_bounds() -> None:
    @tw.tile_kernel
    def waves(x, out):
        i = tw.bid(0)
        tw.store(out, i, tw.sin(tw.load(x, i, 64)) + tw.tanh(tw.load(x, i, 64)))

    x, out = np.linspace(-3, 3, 100, dtype=np.float32), np.zeros(100, np.float32)
    assert tw.compare(waves, (2,), x, out, a="simulator:sm_80", b="simulator:sm_90a").equal
    assert tw.compare(waves, (2,), x, out, a="simulator:sm_80").equal
    assert not out.any()  # it ran on copies


@pytest.mark.skipif(not THOROUGH, reason="TILEWRIGHT_THOROUGH=1, make compare-seeded")
def test_roundings_that_are_carried_along_are_no_find() -> None:
    """The sums of the softmax are computed in another order where a debug store asks for one; the keys that topk sorts
    are bits of its results, in which one more unit looks like another integer."""
    @tw.tile_kernel
    def best(x, out):
        e = tw.load(x, (0, 0), (64, 16))
        e = tw.exp(e - tw.max(e, axis=1, keepdims=True))
        largest, _ = tw.topk(e / tw.sum(e, axis=1, keepdims=True), 2, axis=1)
        tw.store(out, (0, 0), largest)

    x = np.random.default_rng(0).standard_normal((64, 16)).astype(np.float32)
    found = tw.compare(best, 1, x, np.zeros((64, 2), np.float32), a="simulator:sm_80", b="interpreter")
    assert found.equal and not found.exact and found.first is None, str(found)
    assert re.match(r"no op is wrong: the difference, at most \S+e-08 in out\[\d+, \d\], is rounding", found.notes[0])


def test_the_report_shows_the_line_the_block_and_the_operands() -> None:
    with given(arith.Select, lambda op: {"lhs": op.rhs, "rhs": op.lhs}):
        found = run(chain, "simulator:sm_80")
    difference = found.first
    assert difference is not None and difference.sure
    assert (difference.op, difference.side, difference.block, difference.element) == ("select", "a", (0, 0, 0), (0,))
    assert difference.b == difference.want != difference.a
    assert [name for name, _, _ in difference.operands] == ["lt[0]", "a[0]", "neg[0]"]
    text = str(found)
    assert "c = tw.where(a < b, a, -b)" in text and "select is wrong in a" in text
    assert "the lowering is what is wrong" in text
    assert json.loads(json.dumps(found.as_data()))["first"]["op"] == "select"


def test_a_loop_is_told_with_its_iteration() -> None:
    with given(math.Neg, lambda op: {}), after("assign_layouts", _negates_nothing):
        found = run(running, "machine:sm_80")
    assert found.first is not None and found.made_by == "assign_layouts"
    assert found.first.iterations == (1,) and found.first.span.line > 0


def _negates_nothing(function: Any) -> None:
    op = first(function, math.Neg)
    zero = op.src.op
    for other in function.walk():
        other.replace_operands({op.result: op.src})
    assert zero is not None


def test_a_defect_that_hides_from_debug_stores_is_found_by_executing_the_passes() -> None:
    def change(function: Any) -> None:
        if len(function.params) == 3:  # those of the kernel: no probes
            loop = first(function, control.For)
            loop.step, loop.upper = loop.upper, loop.upper

    with after("pipeline_loops", change):
        found = run(product, "simulator:sm_80")
    assert not found.equal and found.made_by == "pipeline_loops"
    assert "with debug stores both sides agree; so the IR was executed after each pass" in found.notes


def test_before_against_after_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fold(unit: Any) -> None:
        op = first(unit.function, arith.Mul)
        op.lhs = op.rhs

    recipe = tuple(fold if step.__name__ == "fold" else step for step in pipeline.MANAGER.recipe)
    monkeypatch.setattr(pipeline, "MANAGER", PassManager(recipe, (), pipeline.MANAGER.check))
    found = run(casts, "frontend")
    assert not found.equal and found.made_by == "fold"
    assert found.first is not None and found.first.op == "mul" and found.first.side == "b"


def test_two_tile_lengths() -> None:
    @tw.tile_kernel
    def double(x, out, tile: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, tile) * 2.0)

    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    b = tw.Side("simulator:sm_80", {"tile": 64}, 2)
    assert tw.compare(double, 4, x, out, 32, a="interpreter", b=b).exact
    with given(arith.Mul, lambda op: {"lhs": op.rhs}):
        found = tw.compare(double, 4, x, out, 32, a="interpreter", b=b)
    assert not found.equal and found.first is not None and found.first.op == "mul"
    assert "compile different IR" in found.notes[0]


def test_a_kernel_that_depends_on_its_tiles_is_said_to() -> None:
    @tw.tile_kernel
    def where(out, tile: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(out, i, tw.full((tile,), i, tw.int32))

    found = tw.compare(where, 4, np.zeros(64, np.int32), 16, a="interpreter", b=tw.Side("interpreter", {"tile": 32}, 2))
    assert not found.equal and found.first is None and "it is the kernel" in found.notes[0]


def test_hints_are_a_side() -> None:
    wide = tw.Side("simulator:sm_80", hints={"num_worker_warps": 8})
    assert run(running, wide).equal


def test_a_side_that_is_none() -> None:
    with pytest.raises(ValueError, match="'abacus' runs nothing; there are interpreter"):
        run(running, "abacus")
    with pytest.raises(TypeError, match="has no parameter 'tile'"):
        run(running, tw.Side("interpreter", {"tile": 3}))
    with pytest.raises(TypeError, match="no option 'warps'"):
        tw.Side("gpu", hints={"warps": 3})


def test_a_saved_comparison_can_be_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "wrong"
    with given(arith.Lt, lambda op: {"lhs": op.rhs, "rhs": op.lhs}):
        found = run(integers, "simulator:sm_80", save=folder)
        assert found.folder == str(folder)
        assert {path.name for path in folder.iterdir()} >= {"a.tile", "b.npz", "report.txt", "command.txt"}
        assert main(["compare", str(folder), "--json"]) == 1
    again = json.loads(capsys.readouterr().out)
    assert again["first"]["op"] == "lt" and again["first"]["element"] == list(found.first.element)  # type: ignore[union-attr]
    assert main(["compare", str(folder)]) == 0
    assert "integers: simulator:sm_80 and interpreter give equal bits" in capsys.readouterr().out


def test_arrays_that_share_memory_do_so_on_both_sides(tmp_path: Path) -> None:
    @tw.tile_kernel
    def shift(x, y, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 16) + tw.load(y, i, 16))

    memory = np.arange(80, dtype=np.float32)
    arguments = memory[:64], memory[1:65], np.zeros(128, np.float32)[::2]
    assert tw.compare(shift, 4, *arguments, a="simulator:sm_80").exact
    with given(arith.Add, lambda op: {"lhs": op.rhs}):
        found = tw.compare(shift, 4, *arguments, a="simulator:sm_80", save=tmp_path)
        assert found.first is not None and found.first.op == "add"
        assert main(["compare", str(tmp_path)]) == 1
    assert main(["compare", str(tmp_path)]) == 0


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("import tilewright as tw\n\n\n@tw.tile_kernel\ndef less(x, out):\n    i = tw.bid(0)\n"
                    "    t = tw.load(x, i, 32)\n    tw.store(out, i, tw.where(t < 0, t, 1))\n")
    words = ["compare", f"{file}:less", "--grid", "2", "--args", "i32[60], i32[60]:zeros", "--a", "simulator:sm_80"]
    assert main(words) == 0
    assert capsys.readouterr().out == "kernel less: simulator:sm_80 and interpreter give equal bits\n"
    with given(arith.Lt, lambda op: {"lhs": op.rhs, "rhs": op.lhs}):
        assert main([*words, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["first"]["place"] == {"file": str(file), "line": 8, "column": 31}
    assert main(words[:2]) == 2


def test_the_way_to_a_gpu_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the driver, and the interpreter in the place of the machine code."""
    built: list[Any] = []
    build, launch = runtime_build.build_kernel, device_plans.DevicePlan.launch_bound

    def build_kernel(function: Any, *rest: Any) -> Any:
        built.append(function)
        return build(function, *rest)

    def launch_bound(plan: Any, grid: Any, arguments: Any, stream: int) -> None:
        launch(plan, grid, arguments, stream)
        values = [host.interpreter_value(leaf) if hasattr(leaf, "value") else _memory(leaf.info) for leaf in arguments]
        interpret(built[-1], grid, values)

    cuda = fake_cuda.install(monkeypatch)
    monkeypatch.setattr(runtime_build, "build_kernel", build_kernel)
    monkeypatch.setattr(device_plans.DevicePlan, "launch_bound", launch_bound)
    try:
        assert run(running, "gpu").exact and cuda.launches
        x, out = np.arange(64, dtype=np.float16)[::-1], np.zeros((2, 64), np.float32)[:, ::2]
        assert tw.compare(rows, 2, x, out, a="gpu").exact
    finally:
        fake_cuda.uninstall()


def _memory(info: Any) -> Any:
    """The array in what stands for the memory of a GPU."""
    low, high = info.span
    memory = (ctypes.c_char * (high - low)).from_address(low)
    dtype = numpy_dtype(info.dtype)
    strides = [s * dtype.itemsize for s in info.strides]
    return np.ndarray(info.shape, dtype, memory, info.pointer - low, strides)


@tw.tile_kernel
def rows(x, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, i, 32).astype(tw.float32).reshape((1, 32)))


@pytest.mark.gpu
def test_a_gpu_against_the_interpreter() -> None:
    for kernel in (chain, integers, running, halving, product):
        found = run(kernel, "gpu")
        assert found.equal, str(found)


@pytest.mark.gpu
def test_a_defect_is_found_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "0")
    with given(arith.Select, lambda op: {"lhs": op.rhs, "rhs": op.lhs}):
        found = run(chain, "gpu")
    assert found.first is not None and found.first.op == "select"


@pytest.mark.gpu
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_each_defect_is_found_on_a_gpu(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled for the defect's target: a GPU runs the code of older ones as well, which has what this one lacks."""
    from tilewright.backend_ptx.runtime import driver

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "0")
    device = driver.get_device(0)
    if device.capability[0] < 9:
        pytest.skip(f"the defects of sm_90a need Hopper, not {device.name}")
    if "Race" in defect.found:
        pytest.skip("a race that may go right")
    monkeypatch.setitem(driver._devices, 0, replace(device, target=get_target(defect.target)))
    assert run(defect.kernel, "gpu").equal
    with defect.seed():
        found = run(defect.kernel, "gpu")
    assert not found.equal
    assert found.first is not None
    assert {found.first.op, found.made_by} & set(defect.found), str(found)
    assert found.first.span.line > 0
