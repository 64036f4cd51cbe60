"""What is reported as undefined is what changes with the contents of memory that nothing has written: each rule for
undefined values, against launches with other contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

I32, F32 = tw.int32, tw.float32
BLOCKS, T = 2, 4


def along(axis):
    return tw.arange(T, dtype=I32)[:, None] if axis == 0 else tw.arange(T, dtype=I32)[None, :]


# u: a tile of which some elements are undefined; d, e: defined ones, d with rows and columns of zeros.
OPS: dict[str, Any] = {
    "itself": lambda u, d, e: u,
    "add": lambda u, d, e: u + d,
    "sub": lambda u, d, e: d - u,
    "mul by zero": lambda u, d, e: u * d,
    "zero by mul": lambda u, d, e: d * u,
    "mul of floats": lambda u, d, e: u.astype(F32) * (e.astype(F32) + 9.0),
    "min": lambda u, d, e: tw.minimum(u, d),
    "max": lambda u, d, e: tw.maximum(d, u),
    "and": lambda u, d, e: u & d,
    "and of two": lambda u, d, e: (u & d) & tw.where(d == 0, d, u),
    "or": lambda u, d, e: u | (d - 1),
    "or, turned": lambda u, d, e: (d - 1) | u,
    "and of bools": lambda u, d, e: tw.where((u > 0) & (d > 0), 1, 0),
    "or of bools": lambda u, d, e: tw.where((d > 0) | (u > 0), 1, 0),
    "xor": lambda u, d, e: u ^ d,
    "not": lambda u, d, e: ~u,
    "shift": lambda u, d, e: (u & 255) << 3,
    "compare": lambda u, d, e: tw.where(u < d, 1, 0),
    "where it is chosen": lambda u, d, e: tw.where(d > 0, u, e),
    "where it is not": lambda u, d, e: tw.where(d > 0, e, u),
    "by a condition": lambda u, d, e: tw.where(u > 0, d, d + 1),
    "by a condition, of equal ones": lambda u, d, e: tw.where(u > 0, d, d & e),
    "cast": lambda u, d, e: (u & 127).astype(tw.int8).astype(I32),
    "quotient": lambda u, d, e: u // 3,
    "sums of rows": lambda u, d, e: d + tw.sum(u, axis=1, keepdims=True),
    "sums of columns": lambda u, d, e: d + tw.sum(u, axis=0, keepdims=True),
    "sums of all": lambda u, d, e: d + tw.sum(u),
    "maxima of rows": lambda u, d, e: d + tw.max(u, axis=1, keepdims=True),
    "any of a row": lambda u, d, e: d + tw.any((u > 2) | (d > 2), axis=1, keepdims=True).astype(I32),
    "all of a row": lambda u, d, e: d + tw.all((u < 3) & (d < 3), axis=1, keepdims=True).astype(I32),
    "any of a column": lambda u, d, e: d + tw.any((u > 2) | (d > 2), axis=0, keepdims=True).astype(I32),
    "places of maxima": lambda u, d, e: d + tw.argmax(u, axis=1)[:, None],
    "spread": lambda u, d, e: d + tw.extract(u, (1, 0), (1, T)),
    "spread along columns": lambda u, d, e: d + tw.extract(u, (0, 2), (T, 1)),
    "turned": lambda u, d, e: tw.permute(u, (1, 0)),
    "another shape": lambda u, d, e: tw.reshape(tw.permute(tw.reshape(u, (2, 2, 4)), (1, 0, 2)), (T, T)),
    "joined": lambda u, d, e: tw.cat((tw.extract(u, (0, 0), (2, T)), tw.extract(d, (1, 0), (2, T))), 0),
    "joined along rows": lambda u, d, e: tw.cat((tw.extract(d, (0, 0), (T, 2)), tw.extract(u, (0, 1), (T, 2))), 1),
    "products": lambda u, d, e: tw.matmul(u.astype(F32), e.astype(F32) + 9.0),
    "products on the right": lambda u, d, e: tw.matmul(e.astype(F32) + 9.0, u.astype(F32)),
    "products added": lambda u, d, e: tw.mma(d.astype(tw.float16), e.astype(tw.float16), u.astype(F32)),
    "products of integers": lambda u, d, e: tw.mma(
        (u & 63).astype(tw.int8), tw.where(along(0) == 1, 0, e + 1).astype(tw.int8), d),
    "products of integers on the right": lambda u, d, e: tw.mma(
        tw.where(along(1) == 2, 0, e + 1).astype(tw.int8), (u & 63).astype(tw.int8), d),
}


def kernel_of(make: Any) -> Any:
    @tw.tile_kernel
    def run(x, known, d, e, out):
        i = tw.bid(0)
        here = (i, 0), (T, T)
        u = tw.where(tw.load(known, *here) > 0, tw.load(e, *here), tw.load(x, *here))
        tw.store(out, (i, 0), make(u, tw.load(d, *here), tw.load(e, *here)).astype(out.dtype))
    return run


def inputs(name: str) -> tuple[Any, Any, Any, Any]:
    pick = np.random.default_rng(len(name))
    known = pick.random((BLOCKS * T, T)) < 0.7
    known[T:] |= name.startswith(("sums of all", "spread"))  # one block has no undefined element
    known[:T][(0, 1, 1), (1, 2, 3)] = False
    d, e = pick.integers(0, 4, (2, BLOCKS * T, T)).astype(np.int32)
    d[1::4], d[:, 1] = 0, 0  # rows and columns of zeros
    return known.astype(np.int32), d, e, pick


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_what_changes_is_undefined(name: str, mode: str) -> None:
    floats = "floats" in name or (name.startswith("products") and "integers" not in name)
    kernel = kernel_of(OPS[name])
    known, d, e, pick = inputs(name)
    shape, dtype = known.shape, np.float32 if floats else np.int32
    results = []
    for low, high in ((0, 1), (-1000, -999), (1000, 1001), *[(-100, 100)] * 40):
        out = np.zeros(shape, dtype)
        kernel.interpret(BLOCKS, pick.integers(low, high, shape).astype(np.int32), known, d, e, out)
        results.append(out)
    changes = np.any([result != results[0] for result in results], axis=0)
    x, out = tw.uninitialized(np.zeros(shape, np.int32)), np.zeros(shape, dtype)
    found = kernel.interpret(BLOCKS, x, known, d, e, out, check=True, on_report="collect", mode=mode)
    assert [(r.kind, r.array) for r in found] == [("undefined", "out")], "\n".join(map(str, found))
    [report] = found
    assert changes.any() and report.count == np.count_nonzero(changes), changes
    assert report.index == tuple(np.argwhere(changes)[0]), report
    assert report.block == (int(report.index[0]) // T, 0, 0)
