"""Slices that end where their array does: TMA copies them through the map of the array, begun further on."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.simulator.edits import operand

import tilewright as tw
from tilewright.backend_ptx.simulator import SimError, simulate_lowered

TILE = 64


@tw.tile_kernel
def convolve(image, weight, out):
    """image (h, w, c), weight (3, 3, c, n): a block computes TILE pixels of a row; beyond the image there are zeros."""
    y, q = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TILE, 32), tw.float32)
    for dy in range(3):
        for dx in range(3):
            shifted = image.slice(1, dx, image.shape[1])
            pixels = tw.load(shifted, (y + dy, q, 0), (1, TILE, 16)).reshape((TILE, 16))
            acc = tw.mma(pixels, tw.load(weight, (dy, dx, 0, 0), (1, 1, 16, 32)).reshape((16, 32)), acc)
    tw.store(out, (y, q, 0), acc.astype(out.dtype).reshape((1, TILE, 32)))


@tw.tile_kernel
def patches(image, weight, out, across: tw.Constant[bool], tma: tw.Constant[bool]):
    """The same for two rows of 32 pixels; `across`: as the transpose; without `tma`, threads copy."""
    y, q = tw.bid(0), tw.bid(1)
    n = 64 if across else 32
    acc = tw.zeros((64, n), tw.float32)
    for dy in range(3):
        lower = image.slice(0, dy, image.shape[0])
        for dx in range(3):
            pixels = tw.load(lower.slice(1, dx, image.shape[1]), (y, q, 0), (2, 32, 16), allow_tma=tma)
            pixels = pixels.reshape((64, 16))
            features = tw.load(weight, (dy, dx, 0, 0), (1, 1, 16, n)).reshape((16, n))
            if across:
                acc = tw.mma(features.transpose(), pixels.transpose(), acc)
            else:
                acc = tw.mma(pixels, features, acc)
    done = acc.transpose() if across else acc
    tw.store(out, (y, q, 0), done.astype(out.dtype).reshape((2, 32, n)))


def convolution() -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(5)
    image, weight = rng.standard_normal((3, 74, 16)), rng.standard_normal((3, 3, 16, 32))
    args = [image.astype(np.float16), weight.astype(np.float16), np.zeros((1, 74, 32), np.float16)]
    padded = np.pad(args[0].astype(np.float64), ((0, 0), (0, 2), (0, 0)))
    return args, sum(padded[dy:dy + 1, dx:dx + 74] @ args[1][dy, dx].astype(np.float64)
                     for dy in range(3) for dx in range(3))


def test_a_convolution_by_shifted_slices() -> None:
    """Of four axes: maps of clipped slices would need six."""
    args, want = convolution()
    code = convolve.lower(*args, target="sm_90a").lowered
    assert {found for line in code.llvm_text.splitlines() if "cp.async.bulk.tensor" in line
            for found in re.findall(r"tensor\.(.d)", line)} == {"3d", "4d"}
    simulate_lowered(code, (1, 2, 1), convolve.lower(*args).values)
    np.testing.assert_allclose(args[2], want, rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize(("across", "tma"), [(False, True), (True, True), (False, False)])
def test_rows_of_a_patch_are_rows_of_an_operand(across: bool, tma: bool) -> None:
    """Tensor cores read both rows from the slot that is filled, as A, and as B of the transpose."""
    rng = np.random.default_rng(5)
    n = 64 if across else 32
    image, weight = (rng.standard_normal(shape).astype(np.float16) for shape in ((4, 42, 16), (3, 3, 16, n)))
    args = image, weight, np.zeros((2, 42, n), np.float16), across, tma
    code = patches.lower(*args, target="sm_90a").lowered
    assert "ldmatrix" not in code.llvm_text and not (tma and "cp.async.cg" in code.llvm_text)
    simulate_lowered(code, (1, 2, 1), patches.lower(*args).values)
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 2), (0, 0)))
    want = sum(padded[dy:dy + 2, dx:dx + 42] @ weight[dy, dx].astype(np.float64) for dy in range(3) for dx in range(3))
    np.testing.assert_allclose(args[2], want, rtol=2e-2, atol=5e-2)


def test_a_slice_that_begins_elsewhere_is_seen() -> None:
    args, want = convolution()
    code = convolve.lower(*args, target="sm_90a").lowered
    loads = [line for line in code.llvm_text.splitlines() if "shared::cluster.global" in line]
    which = next(i for i, line in enumerate(loads) if "tensor.3d" in line)
    text = operand(code.llvm_text, "shared::cluster.global", 4, "add i32 OLD, 1", which=which)
    simulate_lowered(replace(code, llvm_text=text), (1, 2, 1), convolve.lower(*args).values)
    assert not np.allclose(args[2], want, rtol=2e-2, atol=5e-2)


@tw.tile_kernel
def windows(x, b, out, step: tw.Constant[int]):
    """The sum of products of tiles that begin at multiples of `step` columns."""
    view = x.tiled_view((64, 16), padding_mode=tw.PaddingMode.ZERO, traversal_steps=(64, step))
    acc = tw.zeros((64, 32), tw.float32)
    for k in range(3):
        acc = tw.mma(view.load((0, k)), tw.load(b, (k, 0), (16, 32)), acc)
    tw.store(out, (0, 0), acc)


@pytest.mark.parametrize(("step", "tma"), [(8, True), (3, False)])
def test_windows_begin_at_multiples_of_16_bytes_or_come_by_threads(step: int, tma: bool) -> None:
    rng = np.random.default_rng(7)
    x, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 48), (48, 32)))
    args = x, b, np.zeros((64, 32), np.float32), step
    code = windows.lower(*args, target="sm_90a").lowered
    assert code.llvm_text.count("shared::cluster.global.mbarrier") == (2 if tma else 1)
    simulate_lowered(code, (1, 1, 1), windows.lower(*args).values)
    wide = x.astype(np.float64)
    want = sum(wide[:, k * step:k * step + 16] @ b[16 * k:16 * k + 16].astype(np.float64) for k in range(3))
    np.testing.assert_allclose(args[2], want, rtol=1e-3, atol=1e-3)


def test_a_box_that_begins_between_16_bytes_is_seen() -> None:
    rng = np.random.default_rng(7)
    args = *(rng.standard_normal(n).astype(np.float16) for n in ((64, 48), (48, 32))), np.zeros((64, 32), np.float32), 8
    code = windows.lower(*args, target="sm_90a").lowered
    text = operand(code.llvm_text, "shared::cluster.global", 3, "add i32 OLD, 4")
    with pytest.raises(SimError, match="no multiple of 16"):
        simulate_lowered(replace(code, llvm_text=text), (1, 1, 1), windows.lower(*args).values)
