"""Random chains of kernels, launched one by one and fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def scale(x, out, factor, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, (tw.load(x, at, (tm, tn)) * factor).astype(out.dtype))


@tw.tile_kernel
def shift(x, out, term, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, (tw.load(x, at, (tm, tn)) + term).astype(out.dtype))


@tw.tile_kernel
def squash(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    t = tw.load(x, at, (tm, tn)).astype(tw.float32)
    tw.store(out, at, tw.where(t > 0.0, t, tw.expm1(t)).astype(out.dtype))


@tw.tile_kernel
def multiply(x, y, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, (tw.load(x, at, (tm, tn)).astype(tw.float32) * tw.load(y, at, (tm, tn))).astype(out.dtype))


@tw.tile_kernel
def subtract(x, y, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, (tw.load(x, at, (tm, tn)).astype(tw.float32) - tw.load(y, at, (tm, tn))).astype(out.dtype))


@tw.tile_kernel
def add_rows(x, row, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32) + tw.load(row, (i,), (tm,))[:, None]
    tw.store(out, (i, j), t.astype(out.dtype))


@tw.tile_kernel
def row_sums(x, row, tm: tw.Constant[int], tn: tw.Constant[int]):
    i = tw.bid(0)
    total = tw.zeros((tm,), tw.float32)
    for j in range(tw.num_tiles(x, 1, (tm, tn))):
        total += tw.sum(tw.load(x, (i, j), (tm, tn), padding_mode=ZERO).astype(tw.float32), axis=1)
    tw.store(row, i, total.astype(row.dtype))


@tw.tile_kernel
def row_extremes(x, row, tm: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (tm, width), padding_mode=tw.PaddingMode.NEG_INF)
    tw.store(row, i, tw.max(t, axis=1).astype(row.dtype))


@tw.tile_kernel
def normalise(x, out, tm: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (tm, width), padding_mode=ZERO).astype(tw.float32)
    size = tw.sum(t * t, axis=1, keepdims=True)
    tw.store(out, (i, 0), (t * tw.rsqrt(size + 1.0)).astype(out.dtype))


@tw.tile_kernel
def product(x, w, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tn))):
        a = tw.load(x, (i, k), (tm, tn), padding_mode=ZERO)
        b = tw.load(w, (k, j), (tn, tn), padding_mode=ZERO).astype(a.dtype)
        acc = tw.mma(a, b, acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def transpose(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (tm, tn))).astype(out.dtype))


class Launch(NamedTuple):
    """A kernel over a grid; strings among the arguments name arrays."""

    kernel: tw.tile_kernel
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]


class Chain(NamedTuple):
    """`inputs` are arrays, `made` shapes and dtypes of those that launches fill; `vanishing`, the names among them that
    need not be written."""

    inputs: dict[str, Any]
    made: dict[str, tuple[tuple[int, ...], Any]]
    vanishing: frozenset[str]
    launches: list[Launch]

    def run(self, arrays: dict[str, Any]) -> None:
        for kernel, grid, arguments in self.launches:
            kernel[grid](*(arrays[a] if isinstance(a, str) else a for a in arguments))

    def arrays(self) -> dict[str, Any]:
        """Fresh arrays: a chain may overwrite its inputs."""
        return {**{n: a.copy() for n, a in self.inputs.items()},
                **{n: np.zeros(shape, dtype) for n, (shape, dtype) in self.made.items()}}


DTYPES = (np.float32, np.float16, ml_dtypes.bfloat16)


class _Maker:
    """Draws a chain over arrays of n x n, rows of n, by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([seed, 16])
        self.size = int(self.random.integers(3, 30))
        self.tile = int(self.random.choice([4, 8]))
        self.matrices = [f"x{k}" for k in range(3)]
        self.rows = ["r0"]
        square = (self.size, self.size)
        self.inputs = {name: self.random.standard_normal(square).astype(self.dtype()) for name in self.matrices}
        self.inputs["r0"] = self.random.standard_normal(self.size).astype(np.float32)
        self.made: dict[str, tuple[tuple[int, ...], Any]] = {}
        self.launches: list[Launch] = []

    def dtype(self) -> Any:
        return DTYPES[self.random.integers(len(DTYPES))]

    def matrix(self) -> str:
        """One of the arrays, a late one rather than an early one."""
        late = self.matrices[-2:] if self.random.random() < 0.7 else self.matrices
        return str(self.random.choice(late))

    def result(self, names: list[str], shape: tuple[int, ...], dtype: Any) -> str:
        """A new array, or now and then one that is there, which is overwritten."""
        if len(names) > 3 and self.random.random() < 0.15:
            return str(self.random.choice(names))
        name = f"{'r' if len(shape) == 1 else 'm'}{len(self.made) + 10}"
        self.made[name] = shape, dtype
        return name

    def launch(self) -> None:
        n, tile = self.size, self.tile
        whole = 1 << (n - 1).bit_length()
        number = float(np.float32(self.random.uniform(-1, 1)))
        kinds: list[Callable[[], tuple[tw.tile_kernel, tuple[Any, ...], tuple[Any, ...], int]]] = [
            lambda: (scale, (self.matrix(),), (number,), 2), lambda: (shift, (self.matrix(),), (number,), 2),
            lambda: (squash, (self.matrix(),), (), 2), lambda: (multiply, (self.matrix(), self.matrix()), (), 2),
            lambda: (subtract, (self.matrix(), self.matrix()), (), 2),
            lambda: (add_rows, (self.matrix(), self.random.choice(self.rows)), (), 2),
            lambda: (product, (self.matrix(), self.matrix()), (), 2), lambda: (transpose, (self.matrix(),), (), 2),
            lambda: (normalise, (self.matrix(),), (), 1), lambda: (row_sums, (self.matrix(),), (), -1),
            lambda: (row_extremes, (self.matrix(),), (), -1),
        ]
        weights = np.array([3, 3, 3, 2, 2, 2, 1, 0.5, 1, 1, 1])
        kernel, sources, extra, axes = kinds[self.random.choice(len(kinds), p=weights / weights.sum())]()
        names, shape = (self.rows, (n,)) if axes < 0 else (self.matrices, (n, n))
        while (out := self.result(names, shape, self.dtype())) in sources and kernel in (product, transpose, normalise):
            pass  # blocks would read what others overwrite
        tm, tn = tile, tile if axes == 2 or kernel is row_sums else whole
        if axes == 2 and kernel is not product and self.random.random() < 0.3:
            tm, tn = map(int, self.random.choice([2, 4, 8, 16], 2))
        grid = (-(-n // tm), -(-n // tn)) if axes == 2 else (-(-n // tm),)
        self.launches.append(Launch(kernel, grid, (*map(str, sources), out, *extra, tm, tn)))
        if out not in names:
            names.append(out)


def random_chain(seed: int) -> Chain:
    maker = _Maker(seed)
    for _ in range(int(maker.random.integers(2, 9))):
        maker.launch()
    vanishing = frozenset(name for name in maker.made if maker.random.random() < 0.7)
    return Chain(maker.inputs, maker.made, vanishing, maker.launches)


def fused_is_unfused(chain: Chain) -> tw.Fusion:
    """Run a chain both ways; all arrays that must be written hold the same bits."""
    want, got = chain.arrays(), chain.arrays()
    chain.run(want)
    with tw.fuse() as g:
        kept = got.copy()
        for name in chain.vanishing:
            shape, dtype = chain.made[name]
            got[name] = g.empty(shape, dtype)
        chain.run(got)
    for name in want.keys() - chain.vanishing:
        np.testing.assert_array_equal(kept[name].view(np.uint8), want[name].view(np.uint8), err_msg=name)
    return g
