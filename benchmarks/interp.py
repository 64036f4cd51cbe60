"""Time of warm launches in the interpreter, launch included, beside the best NumPy program and Triton's interpreter."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


class Case(NamedTuple):
    """`ours` launches a kernel, `check` says whether its result is right, `numpy` computes the same on whole arrays."""

    name: str
    ours: Callable[[], Any]
    check: Callable[[], bool]
    numpy: Callable[[], Any] | None = None
    triton: Callable[[], Any] | None = None


def milliseconds(run: Callable[[], Any], rounds: int = 15) -> float:
    """Median over rounds; a run of more than a second is timed once."""
    times: list[float] = []
    run()
    while len(times) < rounds and (not times or times[0] < 1000):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def vector_add() -> Case:
    from vector_add import vector_add as kernel

    a, b = np.random.default_rng(0).standard_normal((2, 1 << 20)).astype(np.float32)
    out = np.zeros_like(a)
    triton = _triton_add(a, b, np.zeros_like(a))
    return Case("vector add, 2^20 float32, tile 1024", lambda: kernel[(1024,)](a, b, out, 1024),
                lambda: np.array_equal(out, a + b), lambda: np.add(a, b, out=out), triton)


def softmax() -> Case:
    from softmax import softmax as kernel

    x = np.random.default_rng(1).standard_normal((4096, 1024)).astype(np.float32)
    out = np.zeros_like(x)

    def plain() -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return Case("softmax, 4096 x 1024 float32, a row a block", lambda: kernel[(4096,)](x, out, 1024),
                lambda: np.allclose(out, plain(), rtol=1e-5, atol=0), plain)


def collatz() -> Case:
    import tilewright as tw

    @tw.tile_kernel
    def lengths(out):
        n = tw.bid(0) + 1
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        tw.store(out, tw.bid(0), steps)

    def length(n: int) -> int:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    out = np.zeros(4096, np.int32)
    return Case("Collatz lengths of 1..4096, a scalar a block", lambda: lengths[(4096,)](out),
                lambda: out.tolist() == [length(n + 1) for n in range(4096)])


def matmul() -> Case:
    import tilewright as tw

    @tw.tile_kernel
    def product(a, b, out):
        i, j = tw.bid(0), tw.bid(1)
        acc = tw.zeros((64, 64), tw.float32)
        for k in range(tw.num_tiles(a, 1, (64, 32))):
            acc = tw.mma(tw.load(a, (i, k), (64, 32)), tw.load(b, (k, j), (32, 64)), acc)
        tw.store(out, (i, j), acc)

    a, b = np.random.default_rng(2).standard_normal((2, 512, 512)).astype(np.float32)
    out = np.zeros_like(a)
    return Case("matmul 512^3 float32, tiles 64 x 64 x 32", lambda: product[(8, 8)](a, b, out),
                lambda: np.allclose(out, a @ b, atol=1e-3), lambda: np.matmul(a, b))


def _triton_add(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> Callable[[], Any] | None:
    """The same vector add in Triton's interpreter; None where Triton is not installed."""
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        import torch
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def add(a_ptr, b_ptr, out_ptr, n, TILE: tl.constexpr):
        at = tl.program_id(0) * TILE + tl.arange(0, TILE)
        inside = at < n
        tl.store(out_ptr + at, tl.load(a_ptr + at, inside) + tl.load(b_ptr + at, inside), inside)

    tensors = [torch.from_numpy(v) for v in (a, b, out)]
    return lambda: add[(1024,)](*tensors, len(a), TILE=1024)


def rows() -> Iterator[str]:
    for make in (vector_add, softmax, collatz, matmul):
        case = make()
        ours = milliseconds(case.ours)
        if not case.check():
            raise SystemExit(f"{case.name}: the result is wrong")
        text = f"{case.name:<48} {ours:8.2f} ms"
        if case.numpy:
            text += f" | NumPy on whole arrays {milliseconds(case.numpy):8.2f} ms"
        if case.triton:
            text += f" | Triton's interpreter {milliseconds(case.triton):8.2f} ms"
        yield text


if __name__ == "__main__":
    for line in rows():
        print(line, flush=True)
