"""The decorator: forms, options and their checks, ByTarget, replace_hints."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import tilewright as tw


def copy(x: Any, y: Any) -> None:
    """Copy."""


def test_bare_and_with_options() -> None:
    bare, called, optioned = tw.tile_kernel(copy), tw.kernel()(copy), tw.tile_kernel(occupancy=2)(copy)
    for kernel in (bare, called, optioned):
        assert isinstance(kernel, tw.tile_kernel)
        assert kernel._pyfunc is copy and kernel.__name__ == "copy" and kernel.__doc__ == "Copy."
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
    assert tw.tile_kernel(**options)(copy)._options.resolve("sm_100a") is not None


def test_unknown_option() -> None:
    with pytest.raises(TypeError, match="no option 'occupanzy'"):
        tw.tile_kernel(occupanzy=1)  # type: ignore[call-overload]


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
    assert kernel._options.resolve("sm_90a") == {"num_ctas": 2, "occupancy": 4, "opt_level": 3}
    assert kernel._options.resolve("sm_80") == {"num_ctas": 2, "opt_level": 3}


def test_replace_hints() -> None:
    kernel = tw.tile_kernel(occupancy=2, num_ctas=4)(copy)
    other = kernel.replace_hints(occupancy=8)
    assert other is not kernel and other._launcher is not kernel._launcher
    assert (other._options.occupancy, other._options.num_ctas, kernel._options.occupancy) == (8, 4, 2)
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
