"""Every function of tilewright.kernels in the interpreter against its NumPy reference: ranks, ragged shapes, dtypes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import doc_examples
import ml_dtypes
import numpy as np
import pytest
from support.library_cases import GROUPS, ROUNDING, check, maker
from support.pages import check as check_program
from support.pages import programs_of

import tilewright as tw
import tilewright.kernels as tk
from tilewright.inspecting.decisions import decisions
from tilewright.kernels import arrays, fourier, launching, linear_losses, norms, real_fourier
from tilewright.kernels.device import attention
from tilewright.kernels.optimisers import adamw_reference
from tilewright.launching import launcher
from tilewright.launching.checking import checking

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
# float16 takes the ways of bfloat16; TILEWRIGHT_THOROUGH runs all.
FLOAT16 = GROUPS if os.environ.get("TILEWRIGHT_THOROUGH") else GROUPS[1:2]
RUNS = [(group, dtype) for group in GROUPS for dtype in DTYPES if dtype != np.float16 or group in FLOAT16]


@pytest.mark.parametrize(("group", "dtype"), RUNS, ids=[f"{g.__name__}-{np.dtype(d).name}" for g, d in RUNS])
def test_against_the_reference(group: Callable[..., Any], dtype: Any) -> None:
    for name, args in group(maker(dtype)):
        check(name, args, dtype)


def test_what_the_compiler_makes_of_attention() -> None:
    """Most iterations run without the mask; two warpgroups keep all sums of gradients, and exchange no weights."""
    mask = attention.Mask(True, None, None)
    x, row = tw.spec("bf16[?,?,?,128]"), tw.spec("f32[?,?,?]")
    forward = decisions(attention.attend, (x, x, x, None, x, row, 0.1, mask, 128, 128, 128), "sm_90a")
    assert any(line.count("always true") == 2 for line in forward), forward
    narrow = tw.spec("bf16[4,32,4096,64]")
    shared = decisions(attention.attend, (narrow, narrow, narrow, None, narrow, row, 0.1, mask, 128, 64, 64), "sm_90a")
    assert any(line.startswith("num_warps: 8 (two CTAs share an SM") for line in shared), shared
    assert not any(line.startswith("ladder") for line in (*forward, *shared)), shared
    backward = decisions(
        attention.key_gradients, (x, x, x, x, row, row, None, x, x, 0.1, mask, 64, 128, 128), "sm_90a")
    assert any(line.startswith("num_warps: 8") and "192 in each" in line for line in backward), backward
    assert not any("CTAs per cluster" in line or "16 warps" in line for line in backward), backward


@pytest.mark.parametrize(("n", "centred"), [(4096, True), (16384, False)])
def test_what_the_compiler_makes_of_gradients_of_rows(n: int, centred: bool) -> None:
    """The sums of gradients, which are stored once, do not narrow the accesses of each iteration, so that these are
    prefetched."""
    x, row, sums = tw.spec(f"bf16[?,{n}]"), tw.spec(f"bf16[{n}]"), tw.spec(f"f32[?,{n}]")
    found = decisions(norms.backward_kernel(n), (x, None, x, row, x, sums, sums if centred else None, 1e-5, centred, 1,
                                                 n), "sm_90a")
    assert {"load of x: cp.async", "load of grad: cp.async", "store to dx: 16 bytes at a time"} <= set(found), found


@pytest.mark.parametrize(("d", "keys"), [(16, 64), (128, 128)])
def test_two_blocks_of_narrow_heads_fit_an_sm(d: int, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 1, 300, d)).astype(ml_dtypes.bfloat16) for _ in range(3))
    module, tiles = sys.modules["tilewright.kernels.attention"], []

    def launched(*given: Any) -> None:
        tiles.append(given[-3:])
        launching.launch(*given)

    monkeypatch.setattr(module, "launch", launched)
    check("attention", (q, k, v, True), ml_dtypes.bfloat16)
    assert tiles == [(128, keys, d)]


@pytest.mark.parametrize(("q", "keys", "tile"), [
    ((8, 16, 512, 128), (8, 2, 512, 128), (64, 128)), ((1, 8, 512, 64), (1, 8, 512, 64), (64, 64)),
    ((4, 32, 4096, 64), (4, 32, 4096, 64), (128, 64)), ((1, 4, 64, 64), (1, 4, 64, 64), (64, 64)),
    ((2, 34, 512, 128), (2, 17, 512, 128), (128, 64)),
])
def test_few_blocks_of_keys_are_halved(
    q: tuple[int, ...], keys: tuple[int, ...], tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, made = sys.modules["tilewright.kernels.attention"], {}
    monkeypatch.setattr(module, "launch", lambda kernel, grid, *args: made.update({kernel: (grid, args)}))
    x, k, row = np.zeros(q, np.float16), np.zeros(keys, np.float16), np.zeros(q[:3], np.float32)
    tk.attention_backward(x, None, x, k, k, x, row)
    grid, args = made[attention.key_gradients]
    assert (args[-2], args[-3]) == tile
    assert grid[0] == tw.cdiv(keys[2], tile[0])


def test_what_is_like_an_array_keeps_the_order_of_its_axes() -> None:
    """So that heads that were channels become channels without a copy; what lies across its rows is stored in rows."""
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((2, 5, heads, 4)).transpose(0, 2, 1, 3) for heads in (4, 2, 2))
    out, lse = tk.attention(q, k, v)
    gradients = tk.attention_backward(out, None, q, k, v, out, lse)
    turned = tk.rotary(q, np.ones((5, 2)), np.zeros((5, 2)))
    for x, like in zip((out, turned, *gradients), (q, q, q, k, v), strict=True):
        assert x.strides == like.strides
    assert arrays.alike(q.swapaxes(2, 3)).flags.c_contiguous


def test_the_gradient_of_an_rms_norm_has_no_bias() -> None:
    """Nothing is added up and stored for it."""
    rows, row, parts = tw.spec("bf16[?,2048]"), tw.spec("bf16[2048]"), tw.spec("f32[?,2048]")
    text = norms.backward_kernel(2048).ir(rows, None, rows, row, rows, parts, None, 1e-5, False, 1, 2048)
    assert text.count(" store") == 2, text


def test_sums_of_gradients_of_wide_rows_stay_in_registers() -> None:
    """Those of rows of 16384, in two CTAs with 8192 columns each."""
    rows, row, parts = tw.spec("bf16[?,16384]"), tw.spec("bf16[16384]"), tw.spec("f32[66,16384]")
    found = decisions(norms.backward_kernel(16384), (rows, None, rows, row, rows, parts, parts, 1e-5, True, 1, 16384),
                      "sm_90a")
    assert any(line.startswith("cluster: 2 ") for line in found), found
    assert not any(line.startswith("ladder") for line in found), found


def test_pages_of_a_decode_step_are_copied_ahead() -> None:
    """The table of pages is read ahead, and only the last page of a sequence takes the way without a ring."""
    mask = attention.Mask(False, None, None)
    cache, row = tw.spec("bf16[?,64,8,128]"), tw.spec("f32[?,?,?]")
    args = (tw.spec("bf16[?,?,128]"), cache, cache, tw.spec("i32[?,?]"), tw.spec("i32[?]"), tw.spec("bf16[?,?,?,128]"),
            row, 0.1, mask, 4, 64, 128)
    found = decisions(attention.attend_pages, args, "sm_90a")
    assert any(line.startswith("pipeline: keys and values in ") for line in found), found
    assert any("on the transposes, 4x64x128" in line for line in found), found


def test_tiles_for_a_symbol() -> None:
    """A size of torch.compile is asked for what it stands for, never made a number, which would fix it."""
    symbol: Any = SimpleNamespace(node=SimpleNamespace(hint=100))  # int(symbol) raises
    assert launching.power_above(symbol) == 128 and launching.number(symbol) == 100


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_token_that_occurs_often(deterministic: bool) -> None:
    """Lists of several parts, of one, of none, and tokens outside of the table."""
    tokens = np.array([3] * 290 + [0, 9, -1, 3, 10, 0] + [7] * 64 + [8] * 65, np.int64)
    grad = np.arange(len(tokens) * 3, dtype=np.float32).reshape(-1, 3) % 1000
    got = tk.embedding_backward(grad, tokens, 10, deterministic)
    np.testing.assert_array_equal(got, tk.embedding_backward.reference(grad, tokens, 10))


def test_checks_of_lists_and_pages_report_nothing() -> None:
    """The gradient of an embedding and a decode step, whose blocks meet in counters, lists and tables."""
    x = maker(np.float32)
    tokens, pages = np.array([3] * 70 + [0, -1, 3, 10]), np.array([[2, 0], [1, 1]], np.int32)
    launcher.check_launches(checking(True, "raise"))
    try:
        for deterministic in (False, True):
            tk.embedding_backward(x(len(tokens), 5), tokens, 10, deterministic)
        tk.decode_attention(x(2, 4, 8), x(3, 16, 2, 8), x(3, 16, 2, 8), pages, np.array([20, 16]))
    finally:
        launcher.check_launches(None)


def test_every_function_has_a_case() -> None:
    found = {name for group in GROUPS for name, _ in group(maker(np.float32))}
    assert found == set(tk.DECLARED)
    assert set(tk.DECLARED) <= set(tk.__all__)


PROGRAMS = [program for program in programs_of("kernels.md") if "import torch" not in program.source]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_of_the_page(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check_program(program, tmp_path, capfd)


def test_the_page_names_every_function() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    functions = {name for name in tk.DECLARED if not name.endswith("_backward")}
    assert not {name for name in functions if f"`{name}(" not in page}


def test_arrays_of_unknown_libraries() -> None:
    """They are refused with what to do."""

    class Strange:
        dtype: Any = np.dtype(np.float32)
        shape = 2, 3

    with pytest.raises(tw.TileTypeError, match="does not know how to allocate an array beside one of Strange"):
        tk.softmax(Strange())
    Strange.dtype, Strange.shape = np.dtype(np.complex64), (2, 4)
    with pytest.raises(tw.TileTypeError, match="complex Strange; arrays of NumPy, torch and CuPy are taken"):
        tk.fft(Strange())
    for function in (tk.softmax, tk.fft):
        with pytest.raises(tw.TileTypeError, match="the library takes arrays, not a list"):
            function([[1.0, 2.0]])
    with pytest.raises(tw.TileTypeError, match=r"axis is 1; it must be a tuple of axes, such as \(1,\), or None"):
        tk.DECLARED["reduce"](np.ones((2, 3)), "sum", 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_adamw(dtype: Any) -> None:
    """Two steps over tensors of all sizes in one launch, an empty one among them; the state has a dtype of its own."""
    x, wide = maker(dtype), np.float64 if dtype == np.float64 else np.float32
    values, grads = ([x(*shape) for shape in ((3,), (50, 41), (), (0, 2))] for _ in range(2))
    want = [v.astype(np.float64) for v in values]
    states = [[np.zeros(v.shape, kind) for v in values] for kind in (wide, wide, np.float64, np.float64)]
    for step in (1, 2):
        tk.adamw(values, grads, states[0], states[1], step, 0.1)
        adamw_reference(want, [g.astype(np.float64) for g in grads], states[2], states[3], step, 0.1)
    for mine, right in zip(values, want, strict=True):
        np.testing.assert_allclose(mine.astype(np.float64), right, atol=4 * max(ROUNDING[np.dtype(dtype).name], 1e-7))
    with pytest.raises(tw.TileValueError, match="there are 4 values and 3 grads"):
        tk.adamw(values, grads[:3], states[0], states[1], 1)
    with pytest.raises(tw.TileTypeError, match=r"grads\[1\] has the dtype float16 and grads\[0\] has float32"):
        pair = [np.ones(2)] * 2
        tk.adamw(pair, [np.ones(2, np.float32), np.ones(2, np.float16)], pair, pair, 1)


def test_logits_of_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_losses, "ROWS", 3)
    x, labels = maker(np.float32), np.array([1, 0, 4, -100, 2, 3, 4], np.int32)
    check("linear_cross_entropy", (x(7, 6), x(5, 6), labels), np.float32)
    check("linear_cross_entropy_backward", (x(7), x(7, 6), x(5, 6), labels, 0.1), np.float32)


def test_complex_numbers() -> None:
    """They come back as such, also into `out`, from arrays that are not contiguous."""
    x = (maker(np.float32)(32, 6) + 1j * maker(np.float32, 1)(32, 6)).astype(np.complex64)[:, ::2].T
    for kind in (np.complex64, np.complex128):
        z = x.astype(kind)
        out = np.empty(z.shape, kind)
        assert tk.fft(z, True, out=out) is out
        np.testing.assert_allclose(out, np.fft.ifft(x), atol=1e-6)
        back = tk.fft(out)
        assert back.dtype == kind
        np.testing.assert_allclose(back, x, atol=1e-5)
    with pytest.raises(tw.TileValueError, match="the last axis has 3 points; it must be a power of two"):
        tk.fft(x.T)
    with pytest.raises(tw.TileValueError, match=r"x has the shape \(4,\); it must have an axis to transform"):
        tk.fft(np.ones(4))
    with pytest.raises(tw.TileValueError, match="out has .* and the dtype complex128; the result has .*complex64"):
        tk.fft(x, out=out)
    with pytest.raises(tw.TileValueError, match="out, of shape .*, must be contiguous"):
        tk.fft(x, out=np.empty((32, 3), np.complex64).T)


def test_transforms_in_two_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier, "MOST_BYTES_IN_REGISTERS", 64 * 8)
    monkeypatch.setattr(fourier, "BESIDE", 8)
    monkeypatch.setattr(fourier, "BETWEEN", 2 * 128 * 8)
    monkeypatch.setattr(real_fourier, "MOST_BYTES_IN_REGISTERS", 64 * 8)
    for name, most in (("TILE", 32), ("BESIDE", 8), ("BETWEEN", 2 * 128 * 8)):
        monkeypatch.setattr(real_fourier, name, most)
    check("fft", (maker(np.float32)(3, 128, 2), True, "ortho"), np.float32)
    for name in ("rfft", "irfft", "rfft_backward", "irfft_backward"):
        real = name in ("rfft", "irfft_backward")
        x = maker(np.float32)(*((3, 256) if real else (3, 129, 2)))
        check(name, (x, "ortho", True) if real else (x, "ortho"), np.float32)


def test_real_numbers_and_their_spectra() -> None:
    """Complex numbers come out and go in, also by `out`; 16-bit floats have none."""
    x = maker(np.float32)(3, 16)
    for dtype, kind in ((np.float32, np.complex64), (np.float64, np.complex128)):
        got, out = tk.rfft(x.astype(dtype)), np.empty((3, 9), kind)
        assert got.dtype == kind and tk.rfft(x.astype(dtype), out=out) is out
        np.testing.assert_allclose(got, np.fft.rfft(x), atol=1e-5)
        np.testing.assert_array_equal(got, out)
        back = tk.irfft(np.asfortranarray(got))
        assert back.dtype == dtype
        np.testing.assert_allclose(back, x, atol=1e-6)
    with pytest.raises(tw.TileTypeError, match="x has the dtype float16, of which there are no complex numbers"):
        tk.rfft(x.astype(np.float16))
    with pytest.raises(tw.TileTypeError, match="x is complex; it must hold real numbers"):
        tk.rfft(got)
    with pytest.raises(tw.TileValueError, match="x is of 12 real numbers; they must be a power of two, 2 to 65536"):
        tk.rfft(x[:, :12])
    with pytest.raises(tw.TileValueError, match="x is of 14 real numbers"):
        tk.irfft(got[:, :8])
    with pytest.raises(tw.TileValueError, match=r"x has the shape \(3, 16\); it must hold complex numbers, or floats"):
        tk.irfft(x)
    with pytest.raises(tw.TileValueError, match=r"out has .* complex128; the result has \(3, 9\) and complex64"):
        tk.rfft(x, out=out)


def test_runs_of_keys() -> None:
    keys = np.array([1, 1, 2])
    with pytest.raises(tw.TileValueError, match=r"keys has the shape \(3,\) and values \(2,\); values must have one"):
        tk.reduce_by_key(keys, np.ones(2))
    with pytest.raises(tw.TileValueError, match="op is 'mean'; it must be one of sum, prod, max, min"):
        tk.reduce_by_key(keys, np.ones(3), "mean")
    with pytest.raises(tw.TileTypeError, match="keys are bools"):
        tk.reduce_by_key(keys > 1, np.ones(3))
    found, sums, runs = tk.reduce_by_key(keys, np.ones((3, 0)))
    assert found.tolist() == [1, 2, 0] and sums.shape == (3, 0) and runs == 2


def test_transforms_of_arrays_that_broadcast() -> None:
    """Grids of one to three axes, and numbered blocks beyond."""
    x = maker(np.float32)
    for one, other in (((5,), (5,)), ((3, 700), (700,)), ((3, 700), (3, 1)), ((2, 3, 5), (1, 3, 1)), ((), ()),
                       ((0, 3), (3,)), ((2, 3, 4, 5), (2, 1, 4, 1)), ((2, 3, 4, 5, 2), (1, 3, 1, 5, 1)),
                       ((2, 1, 5, 1), (1, 4, 1, 3))):
        a, b = x(*one), x(*other)
        np.testing.assert_allclose(tk.transform(lambda s, t: s * t + 1.0, a, b), a * b + 1, atol=1e-6)


def test_samples_have_their_probabilities() -> None:
    """5000 draws of one row: within four standard deviations."""
    share = np.array([0.5, 0.2, 0.05, 0.25])
    found = np.bincount(tk.sample(np.tile(np.log(share), (5000, 1)), 3), minlength=4) / 5000
    assert (np.abs(found - share) < 4 * np.sqrt(share * (1 - share) / 5000)).all()
    kept = np.bincount(tk.sample(np.tile(np.log(share), (500, 1)), 3, 1.0, 2), minlength=4)
    assert kept[1] == kept[2] == 0 and kept[0] > kept[3] > 0


def test_outputs_that_share_memory() -> None:
    """In place is as it was; what another block would read too late is refused."""
    x = np.arange(12.0).reshape(3, 4)
    want = tk.softmax(x)
    rows = np.concatenate([x, x[:1]])
    square = np.eye(4)
    for function, args, out in (
        (tk.softmax, (rows[:3],), rows[1:]), (tk.softmax, (x,), x[::-1]), (tk.matmul, (square, square), square),
        (tk.linear, (square, square), square),
    ):
        with pytest.raises(tw.TileValueError, match="out shares memory with"):
            function(*args, out=out)
    with pytest.raises(tw.TileValueError, match="elements of out, of shape .* share memory"):
        tk.softmax(x, out=np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (0, 8)))
    assert tk.softmax(rows[:3], out=rows[:3]) is not None and np.array_equal(rows[:3], want)
    c = np.ones((4, 4))
    assert np.array_equal(tk.matmul(np.eye(4), np.eye(4), c, beta=1.0, out=c), 1 + np.eye(4))
