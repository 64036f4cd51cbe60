"""Operations of estimates, by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as ct
from tilewright.estimating import DEVICES, estimate
from tilewright.tileir.diagnostics import TileValueError

MEASURED = Path(__file__).parents[3] / "benchmarks" / "limits-h200.txt"


@ct.tile_kernel
def product(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        acc = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), acc)
    ct.store(c, (i, j), acc * 2.0)


@ct.tile_kernel
def softmax(x, out, n: ct.Constant[int]):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, n))
    e = ct.exp(row - ct.max(row, 1, keepdims=True))
    ct.store(out, (i, 0), e / ct.sum(e, 1, keepdims=True))


@ct.tile_kernel
def until(x, out, sink):
    """As many rows as the block's number says, then as many as an array says."""
    i = ct.bid(0)
    total = ct.zeros((16,), ct.float32)
    for k in range(i):
        total = total + ct.load(x, (k, 0), (1, 16)).reshape((16,))
    n = ct.load(out, (i,), (1,)).item()
    while n > 0:
        total = total * 3.0
        n -= 1
    ct.store(sink, (i, 0), total.reshape((1, 16)))


def test_a_product() -> None:
    specs = [ct.spec("bf16[512,256]"), ct.spec("bf16[256,384]"), ct.spec("f32[512,384]")]
    found = estimate(product, (4, 3), *specs, 128, 128, 64)
    assert found.operations == {"tensor bf16": 2 * 512 * 256 * 384, "f32": 512 * 384}
    assert found.bytes_read == {"a": 512 * 256 * 2, "b": 256 * 384 * 2, "c": 0}
    assert found.bytes_written == {"a": 0, "b": 0, "c": 512 * 384 * 4}
    assert [array.read.requested for array in found.arrays] == [3 * 512 * 256 * 2, 4 * 256 * 384 * 2, 0]
    assert not found.exact and found.dram_bytes[0] == found.dram_bytes[1], "L2 keeps so small operands"
    found = estimate(product, (4, 3), *specs, 128, 128, 64, machine=False)
    assert found.machine is None and found.dram_bytes[1] == found.bytes_requested > found.dram_bytes[0]


def test_a_softmax() -> None:
    rows, n = 1000, 512
    found = estimate(softmax, (rows,), ct.spec(f"f32[{rows},{n}]"), ct.spec(f"f32[{rows},{n}]"), n, device="a100")
    # A subtraction and a division an element, and two reductions.
    assert found.operations == {"f32": rows * (2 * n + 2 * (n - 1)), "special": rows * n}
    assert found.exact and found.dram_bytes == (2 * rows * n * 4,) * 2
    assert found.limit == "bandwidth" and found.shares["bandwidth"] == 1.0
    assert found.seconds == 2 * rows * n * 4 / 2039e9 == found.reached(1.0)


def test_trip_counts_by_block_and_by_contents() -> None:
    x, counts = np.ones((8, 16), np.float32), np.array([3, 0, 1, 1, 5, 0, 0, 2], np.int32)
    found = estimate(until, (8,), x, counts, ct.spec("f32[8,16]"))
    assert found.operations["f32"] == 16 * (sum(range(8)) + counts.sum())
    assert found.bytes_read["x"] == 7 * 16 * 4
    [note] = found.notes
    assert "out" in note
    assert (counts == [3, 0, 1, 1, 5, 0, 0, 2]).all()


def test_the_measured_limits_are_those_of_the_benchmarks() -> None:
    rates = {kind: float(rate) for kind, rate in re.findall(
        r"^limit: (?:matrix product )?(copy|\w+).* ([\d.]+) (?:GB|TFLOP)/s$", MEASURED.read_text(), re.MULTILINE)}
    tensor = {f"tensor {short}": rates[name] * 1e12 for short, name in (("bf16", "bfloat16"), ("f16", "float16"))}
    assert DEVICES["h200"].measured == {"bandwidth": rates["copy"] * 1e9, **tensor}


def test_every_gpu_has_a_target_and_sources() -> None:
    for name, device in DEVICES.items():
        made = estimate(softmax, (1,), ct.spec("f32[1,512]"), ct.spec("f32[1,512]"), 512, device=name)
        assert made.device is device and device.sources
        assert all(device.rate_limit(kind) for kind in ("f32", "f64", "special", "tensor bf16", "tensor f8"))


def test_mistakes() -> None:
    with pytest.raises(TileValueError, match="no GPU 'h300'"):
        estimate(softmax, (1,), ct.spec("f32[1,512]"), ct.spec("f32[1,512]"), 512, device="h300")
    with pytest.raises(TypeError, match="argument 'x' is .*; an estimate needs its extents"):
        estimate(softmax, (1,), ct.spec("f32[?,512]"), ct.spec("f32[1,512]"), 512)
