"""Slices that end where their array does: TMA copies them through the map of the array, begun further on."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from support.simulator.edits import operand

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate_lowered

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


def test_a_slice_that_begins_elsewhere_is_seen() -> None:
    args, want = convolution()
    code = convolve.lower(*args, target="sm_90a").lowered
    loads = [line for line in code.llvm_text.splitlines() if "shared::cluster.global" in line]
    which = next(i for i, line in enumerate(loads) if "tensor.3d" in line)
    text = operand(code.llvm_text, "shared::cluster.global", 4, "add i32 OLD, 1", which=which)
    simulate_lowered(replace(code, llvm_text=text), (1, 2, 1), convolve.lower(*args).values)
    assert not np.allclose(args[2], want, rtol=2e-2, atol=5e-2)
