"""Kernels from Tile IR: they launch, compile, are checked and derived as those of Python functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.parser import parse


@tw.tile_kernel(occupancy=2)
def scale(x, out, pair, n, FACTOR: tw.Constant[float]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) * FACTOR + pair[0] * n)


def specs() -> tuple[Any, ...]:
    return tw.spec("f32[32]"), tw.spec("f32[32]"), (tw.spec("f32"),), tw.spec("i32")


TEXT = scale.ir(*specs(), 3.0, spans=True)


def arguments(count: int = 32) -> list[Any]:
    return [np.arange(count, dtype=np.float32), np.zeros(count, np.float32), 2.0, 5]


@pytest.mark.parametrize("form", ["text", "function", "file"])
def test_it_launches_from_each_form(form: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.tile"
    path.write_text(TEXT)
    forms: dict[str, Any] = {"text": TEXT, "function": parse(TEXT), "file": path}
    kernel = tw.kernel_from_ir(forms[form])
    x, out, pair, n = arguments()
    kernel[(2,)](x, out, pair_0=pair, n=n)
    np.testing.assert_array_equal(out, x * 3 + 10)
    assert kernel.__name__ == "scale" and kernel.hints.occupancy == 2
    assert [p.name for p in kernel.specialiser.params] == ["x", "out", "pair_0", "n"]


def test_ir_and_ptx_are_those_of_the_kernel() -> None:
    """The IR of a kernel from IR is that IR again, and compiles to the same code."""
    kernel, own = tw.kernel_from_ir(TEXT), (*specs()[:2], tw.spec("f32"), tw.spec("i32"))
    assert kernel.ir(*own, spans=True) == TEXT
    assert kernel.ptx(*own, target="sm_90a") == scale.ptx(*specs(), 3.0, target="sm_90a")


def test_places_in_the_source_are_kept() -> None:
    short = np.zeros(20, np.float32)
    text = scale.ir(tw.spec("f32[20]"), tw.spec("f32[20]"), *specs()[2:], 3.0, spans=True)
    kernel = tw.kernel_from_ir(text.replace("order=(0))", "order=(0), check_bounds=false)"))
    reports = kernel.interpret((2,), short, short.copy(), 2.0, 5, check=True, on_report="collect")
    line = scale.__wrapped__.__code__.co_firstlineno + 3
    assert reports and all((r.span.file, r.span.line) == (__file__, line) for r in reports)


def test_it_is_traced_simulated_and_derived() -> None:
    kernel = tw.kernel_from_ir(TEXT)
    x, out, pair, n = arguments()
    kernel.simulate((2,), x, out, pair, n, target="sm_80")
    np.testing.assert_array_equal(out, x * 3 + 10)
    x_grad = np.zeros_like(x)
    tw.grad(kernel, wrt="x", outputs="out")[(2,)](x, out, pair, n, np.ones_like(x), x_grad)
    np.testing.assert_array_equal(x_grad, np.full(32, 3.0))


def changed(position: int, value: Any) -> list[Any]:
    out = arguments()
    out[position] = value
    return out


@pytest.mark.parametrize("error, text, given", [
    (TypeError, "'x' must be an array of float32 with 1 axes, as in the Tile IR, not of float64 with 1",
     changed(0, np.zeros(32))),
    (TypeError, "'x' must be an array of float32, as in the Tile IR", changed(0, (np.zeros(32),))),
    (TypeError, "'n' must be a scalar of int32, as in the Tile IR, not a scalar of float32", changed(3, 5.0)),
    (ValueError, "'x': the extent of axis 0 must be a multiple of 16, as the Tile IR was made for such arrays; it is 8",
     changed(0, np.zeros(8, np.float32))),
    (ValueError, "'out': the stride of axis 0 must be 1", changed(1, np.zeros(64, np.float32)[::2])),
    (ValueError, "'x' must begin at a multiple of 16 bytes", changed(0, np.zeros(33, np.float32)[1:])),
    (TypeError, r"kernel scale takes 4 arguments \(x, out, pair_0, n\), but 3 were given", arguments()[:3]),
])
def test_arguments_that_do_not_fit(error: type[Exception], text: str, given: list[Any]) -> None:
    with pytest.raises(error, match=text):
        tw.kernel_from_ir(TEXT)[(2,)](*given)


def test_arrays_share_no_memory() -> None:
    x = np.zeros(32, np.float32)
    with pytest.raises(tw.TileValueError, match="'out' and 'x' share memory"):
        tw.kernel_from_ir(TEXT)[(2,)](x, x, 2.0, 5)


def test_what_is_no_ir_is_refused() -> None:
    with pytest.raises(tw.TileSyntaxError):
        tw.kernel_from_ir(TEXT.replace("load(", "lode("))
    with pytest.raises(TypeError, match="takes Tile IR as text, in a file or as a function, not int"):
        tw.kernel_from_ir(3)  # type: ignore[arg-type]
    machine = str(scale.lower(*specs(), 3.0, target="sm_80").machine_ir())
    with pytest.raises(tw.TileUnsupportedFeatureError, match="which the backend's passes make"):
        tw.kernel_from_ir(machine)
    with pytest.raises(tw.TileUnsupportedFeatureError, match="no statements to stop at"):
        tw.kernel_from_ir(TEXT).debug((2,), *arguments())


def test_the_command_line_takes_a_file_of_ir(tmp_path: Path) -> None:
    (tmp_path / "scale.tile").write_text(TEXT)
    command = [sys.executable, "-m", "tilewright", "ir", "scale.tile", "--spans", "--args"]
    ran = subprocess.run([*command, "f32[32], f32[32], f32, i32"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == TEXT + "\n" and not ran.stderr
