"""Math modes: what each makes of operations, in Tile IR, in the interpreter, in the simulator and on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda

import tilewright as tw
from tilewright.frontend import math_modes
from tilewright.inspecting.deciding import decisions_of
from tilewright.launching import settings, warm
from tilewright.options import MATH_MODES
from tilewright.tileir.plan import Switches

TINY = np.float32(1e-40)  # subnormal


def combine(a, b):
    return a * 0.5 + b


def mixed(x, y, out):
    i = tw.bid(0)
    a, b = tw.load(x, i, 32), tw.load(y, i, 32)
    t = (a * b + a) / tw.sqrt(b) - tw.exp2(a)
    t += tw.exp(a) * tw.tanh(b) + tw.rsqrt(b) + tw.sum(a) + tw.max(b) + tw.reduce(a, 0, combine, 0.0)
    t += tw.truediv(a, b, rounding_mode=tw.RoundingMode.RZ)
    tw.store(out, i, t + tw.truediv(b, a, rounding_mode=tw.RoundingMode.APPROX, flush_to_zero=True))


def basic(x, y, add, mul, both, quotient, root):
    i = tw.bid(0)
    a, b = tw.load(x, i, 32), tw.load(y, i, 32)
    tw.store(add, i, a + b)
    tw.store(mul, i, a * b)
    tw.store(both, i, a * b + a)
    tw.store(quotient, i, a / b)
    tw.store(root, i, tw.sqrt(b))


def numbers(dtype: Any = np.float32) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.uniform(0.5, 2, 128).astype(dtype), rng.uniform(0.5, 2, 128).astype(dtype)


def ir_of(function: Any, mode: str, dtype: Any = np.float32) -> str:
    kernel = tw.tile_kernel(function, math=mode)
    count = len(kernel.specialiser.params) - 2
    x, y = numbers(dtype)
    return kernel.ir(x, y, *[np.zeros_like(x) for _ in range(count)])


def test_the_modes_are_those_of_the_frontend() -> None:
    assert MATH_MODES == math_modes.MODES


def test_the_default_says_nothing() -> None:
    plain = tw.tile_kernel(mixed)
    x, y = numbers()
    text = ir_of(mixed, "default")
    assert text == plain.ir(x, y, x.copy()) and "fma(" in text and "decision" not in text
    assert text.count("approx") == text.count("ftz") == 1, "what the kernel itself asks for"


def test_exact_fuses_and_approximates_nothing() -> None:
    text = ir_of(mixed, "exact")
    assert "fma(" not in text and "ftz" not in text and '"approx"' not in text and '"full"' not in text
    assert 'rounding="zero"' in text, "another direction is IEEE's, too"
    assert text.splitlines()[1].startswith('  decision math = "exact", ')


def test_fast_takes_what_the_hardware_has() -> None:
    lines = {line.split(" = ")[1].split("(")[0]: line for line in ir_of(mixed, "fast").splitlines() if " = " in line
             and "decision" not in line}
    assert {name for name, line in lines.items() if "ftz=true" in line} == {
        "fma", "add", "sub", "div", "sqrt", "exp2", "rsqrt", "reduce_sum", "reduce_max"}
    assert {name for name, line in lines.items() if 'rounding="approx"' in line} == {"div", "sqrt", "exp", "tanh"}
    given = [line for line in ir_of(mixed, "fast").splitlines() if 'rounding="zero"' in line]
    assert len(given) == 1 and "ftz=true" in given[0], "a direction that was asked for stands"


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_fast_is_for_float32(dtype: Any) -> None:
    def plain(x, y, out):
        i = tw.bid(0)
        a, b = tw.load(x, i, 32), tw.load(y, i, 32)
        tw.store(out, i, tw.exp(a) / tw.sqrt(b) + a * b)

    fast, usual = (ir_of(plain, mode, dtype).splitlines() for mode in ("fast", "default"))
    assert [line for line in fast if "decision" not in line] == usual


def run(mode: str, x: Any, y: Any, how: Any = None) -> list[Any]:
    kernel = tw.tile_kernel(basic, math=mode)
    outs = [np.zeros_like(x) for _ in range(5)]
    if how is None:
        kernel[4](x, y, *outs)
    else:
        how(kernel, x, y, *outs)
    return outs


def simulated(kernel: Any, *arrays: Any) -> None:
    kernel.simulate((4,), *arrays, target="sm_80")


@pytest.mark.parametrize("how", [None, simulated])
def test_exact_is_what_numpy_computes_step_by_step(how: Any) -> None:
    x, y = numbers()
    add, mul, both, quotient, root = run("exact", x, y, how)
    for found, want in ((add, x + y), (mul, x * y), (both, x * y + x), (quotient, x / y), (root, np.sqrt(y))):
        np.testing.assert_array_equal(found, want)
    assert (run("default", x, y, how)[2] != both).any(), "by default product and sum are rounded once"


def functions(x, exponential, tangent):
    i = tw.bid(0)
    t = tw.load(x, i, 32)
    tw.store(exponential, i, tw.exp(t))
    tw.store(tangent, i, tw.tanh(t))


@pytest.mark.parametrize("how", [None, simulated])
def test_fast_functions_keep_their_bounds(how: Any) -> None:
    x = np.linspace(-80, 80, 128, dtype=np.float32)
    for mode, bounds in (("fast", (2.0**-22 + np.abs(x) * 2.0**-23, 2.0**-10)), ("default", (2.0**-22, 2.0**-22))):
        kernel, outs = tw.tile_kernel(functions, math=mode), (np.zeros_like(x), np.zeros_like(x))
        if how is None:
            kernel[4](x, *outs)
        else:
            how(kernel, x, *outs)
        wide = x.astype(np.float64)
        for found, want, bound in zip(outs, (np.exp(wide), np.tanh(wide)), bounds, strict=True):
            assert (np.abs(found - want) <= bound * np.abs(want)).all(), mode


@pytest.mark.parametrize("how", [None, simulated])
def test_fast_keeps_the_bounds_of_approximations_and_flushes(how: Any) -> None:
    x, y = numbers()
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    _, _, both, quotient, root = run("fast", x, y, how)
    exact_sum = wide_x * wide_y + wide_x
    np.testing.assert_array_equal(both, exact_sum.astype(np.float32))
    for found, want in ((quotient, wide_x / wide_y), (root, np.sqrt(wide_y))):
        assert (np.abs(found - want) <= 2 * np.spacing(want.astype(np.float32))).all()
    x[:], y[:] = TINY, 1
    for mode, kept in (("exact", True), ("default", True), ("fast", False)):
        add, mul, *_ = run(mode, x, -x, how)
        assert not add.any() and not np.any(mul)
        assert (run(mode, x, y, how)[1] == TINY).all() == kept, mode


def test_decisions_and_ptx_show_the_mode() -> None:
    x, y = numbers()
    wanted = {"exact": ("mul.rn.f32", "div.rn.f32", "sqrt.rn.f32"),
              "fast": ("fma.rn.ftz.f32", "div.approx.ftz.f32", "sqrt.approx.ftz.f32")}
    for mode, instructions in wanted.items():
        kernel = tw.tile_kernel(basic, math=mode)
        arrays = x, y, *[np.zeros_like(x) for _ in range(5)]
        stages = kernel.lower(*arrays, target="sm_90a")
        assert [found.value for found in decisions_of(stages) if found.name == "math"] == [mode]
        text = kernel.ptx(*arrays, target="sm_90a")
        assert all(instruction in text for instruction in instructions), mode
        assert ("fma" in text) == (mode == "fast")


def test_the_mode_is_a_part_of_what_a_process_finds_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = set()
    for cuda in fake_cuda.in_place(monkeypatch, tmp_path):
        arrays = [tw.to_device(np.ones(32, np.float32)) for _ in range(7)]
        for mode in MATH_MODES:
            kernel = tw.tile_kernel(basic, math=mode)
            kernel[1](*arrays)
            specialiser = kernel.specialiser
            from tilewright.backend_ptx.runtime.driver import get_device

            keys.add(warm.key_of(specialiser, specialiser.bind(arrays), Switches(), get_device(0)))
        assert len(set(cuda.linked)) == 3
    assert len(keys) == 3 and None not in keys


def test_the_mode_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = numbers()
    with tw.settings(math="exact"):
        exact, own = tw.tile_kernel(mixed), tw.tile_kernel(mixed, math="fast")
        assert tw.settings().math == "exact"
    later = tw.tile_kernel(mixed)
    modes = [kernel.ir(x, y, x.copy()).splitlines()[1].split('"')[1:2] for kernel in (exact, own, later)]
    assert modes == [["exact"], ["fast"], []], "it is that of the time when a kernel is made"
    assert exact.replace_hints(occupancy=2).ir(x, y, x.copy()).count('math = "exact"') == 1
    for words, error in (("fast", None), ("FAST", None), ("quick", "TILEWRIGHT_MATH: math must be")):
        monkeypatch.setattr(settings._STATE, "math", "default")
        monkeypatch.setenv("TILEWRIGHT_MATH", words)
        settings._read_environment.cache_clear()
        if error is None:
            assert tw.settings().math == "fast"
        else:
            with pytest.raises(ValueError, match=error):
                tw.tile_kernel(mixed)
    monkeypatch.setattr(settings._STATE, "math", "default")
    monkeypatch.delenv("TILEWRIGHT_MATH")
    settings._read_environment.cache_clear()


def test_other_modes_are_refused() -> None:
    with pytest.raises(ValueError, match='tile_kernel: math must be "exact", "default" or "fast", not \'quick\''):
        tw.tile_kernel(math="quick")
    with pytest.raises(ValueError, match="settings: math must be"):
        tw.settings(math="quick")


@pytest.mark.gpu
def test_modes_on_a_gpu() -> None:
    def on_gpu(kernel: Any, *arrays: Any) -> None:
        there = [tw.to_device(a) for a in arrays]
        kernel[4](*there)
        for array, moved in zip(arrays, there, strict=True):
            array[...] = moved.to_host()

    test_exact_is_what_numpy_computes_step_by_step(on_gpu)
    test_fast_functions_keep_their_bounds(on_gpu)
    test_fast_keeps_the_bounds_of_approximations_and_flushes(on_gpu)
