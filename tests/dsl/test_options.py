"""The decorator: forms, options and their checks, ByTarget, replace_hints."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import tilewright as tw
from tilewright.tileir.plan import Hints


def copy(x: Any, y: Any) -> None:
    """Copy."""


def test_bare_and_with_options() -> None:
    bare, called, optioned = tw.tile_kernel(copy), tw.kernel()(copy), tw.tile_kernel(occupancy=2)(copy)
    for kernel in (bare, called, optioned):
        assert isinstance(kernel, tw.tile_kernel)
        assert kernel.__wrapped__ is copy and kernel.__name__ == "copy" and kernel.__doc__ == "Copy."
    assert isinstance(tw.tile_kernel(lambda x: None), tw.tile_kernel)
    assert repr(bare) == "<tile_kernel copy>"


@pytest.mark.parametrize("thing", [print, functools.partial(copy), int, "copy", 3])
def test_only_functions(thing: Any) -> None:
    with pytest.raises(TypeError, match="takes a Python function"):
        tw.tile_kernel(thing)


def test_direct_call() -> None:
    with pytest.raises(TypeError, match=r"copy\[grid\]"):
        tw.tile_kernel(copy)(1, 2)


@pytest.mark.parametrize("options", [
    {"num_ctas": 3}, {"num_ctas": 32}, {"occupancy": 0}, {"occupancy": 33}, {"occupancy": True}, {"occupancy": 2.0},
    {"opt_level": 4}, {"opt_level": -1}, {"num_worker_warps": 2}, {"num_ctas": tw.ByTarget(default=1, sm_90=3)},
])
def test_bad_values(options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        tw.tile_kernel(**options)


@pytest.mark.parametrize("options", [
    {"num_ctas": 16}, {"occupancy": 32}, {"opt_level": None}, {"num_worker_warps": 8},
    {"occupancy": tw.ByTarget(sm_80=1, sm_100=4)},
])
def test_good_values(options: Any) -> None:
    assert tw.tile_kernel(**options)(copy).hints.resolve("sm_100a") is not None


def test_unknown_option() -> None:
    with pytest.raises(TypeError, match="no option 'occupanzy'"):
        tw.tile_kernel(occupanzy=1)


def test_by_target() -> None:
    hints = tw.ByTarget(default=2, sm_90=4)
    assert (hints.resolve("sm_90a", 1), hints.resolve("sm_80", 1)) == (4, 2)
    assert tw.ByTarget(sm_90=4).resolve("sm_80", 1) == 1
    assert hints == tw.ByTarget(default=2, sm_90=4) != tw.ByTarget(default=2)
    assert hash(hints) == hash(tw.ByTarget(default=2, sm_90=4))
    assert repr(hints) == "ByTarget(default=2, sm_90=4)"
    for bad in ("sm_90a", "gfx90", "sm_", "default_"):
        with pytest.raises(ValueError, match="is not a target"):
            tw.ByTarget(**{bad: 1})


def test_options_by_target() -> None:
    kernel = tw.tile_kernel(occupancy=tw.ByTarget(sm_90=4), num_ctas=2)(copy)
    assert kernel.hints.resolve("sm_90a") == Hints(num_ctas=2, occupancy=4)
    assert kernel.hints.resolve("sm_80") == Hints(num_ctas=2)


def test_replace_hints() -> None:
    kernel = tw.tile_kernel(occupancy=2, num_ctas=4)(copy)
    other = kernel.replace_hints(occupancy=8)
    assert other is not kernel and other.launcher is not kernel.launcher
    assert (other.hints.occupancy, other.hints.num_ctas, kernel.hints.occupancy) == (8, 4, 2)
    with pytest.raises(TypeError, match="no option"):
        kernel.replace_hints(colour="red")
    with pytest.raises(ValueError, match="occupancy"):
        kernel.replace_hints(occupancy=64)


def test_function() -> None:
    @tw.function
    def helper(x: int) -> int:
        return x + 1

    with pytest.raises(RuntimeError, match="helper is a tile function"):
        helper(1)

    @tw.function(host=True)
    def both(x: int) -> int:
        return x + 1

    assert both(1) == 2


def test_functions_for_the_host_alone() -> None:
    @tw.function(host=True, tile=False)
    def size() -> int:
        return 4

    @tw.tile_kernel
    def kernel(x: Any) -> None:
        tw.store(x, 0, size())

    assert size() == 4
    with pytest.raises(tw.TileTypeError, match=r"size is marked with function\(tile=False\)"):
        kernel.ir(tw.spec("i32[4]"))
    with pytest.raises(ValueError, match="nobody could call copy"):
        tw.function(copy, tile=False)


def plain(x: Any, y: Any) -> None:
    i = tw.bid(0)
    t = tw.load(x, i, 1024)
    for _ in range(4):
        t = t * tw.exp(t)
    tw.store(y, i, t)


SPECS = tw.spec("f32[4096]"), tw.spec("f32[4096]")


@pytest.mark.parametrize("option, values", [
    ("num_worker_warps", (4, 8)), ("occupancy", (None, 4)), ("opt_level", (0, 3)),
])
def test_options_change_the_code(option: str, values: tuple[Any, Any]) -> None:
    pytest.importorskip("nvidia")
    a, b = (tw.tile_kernel(plain).replace_hints(**{option: value}).cubin(*SPECS, target="sm_90a") for value in values)
    assert a != b


def test_options_by_target_change_the_code_of_that_target() -> None:
    kernel = tw.tile_kernel(num_worker_warps=tw.ByTarget(sm_90=8, default=4))(plain)
    threads = {t: kernel.compiled(*SPECS, target=t).threads for t in ("sm_80", "sm_90a", "sm_120a")}
    assert threads == {"sm_80": 128, "sm_90a": 256, "sm_120a": 128}


def test_programmatic_dependent_launch() -> None:
    import numpy as np

    x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    tw.launch(None, (4,), tw.tile_kernel(plain), (x, y), programmatic_dependent_launch=True)
    assert y.all()
    with pytest.raises(TypeError, match="programmatic_dependent_launch must be True or False"):
        tw.launch(None, (4,), tw.tile_kernel(plain), (x, y),
                  programmatic_dependent_launch=1)  # type: ignore[arg-type]
