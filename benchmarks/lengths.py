"""Time to PTX of kernels of several lengths, in milliseconds of this process per repetition of the body.

A compiler whose time is linear gives the same number at each length. `python -m benchmarks.lengths`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import tilewright as tw
from benchmarks.compile import TARGET

LENGTHS = (400, 1600, 4800)
PART = 100  # static_iter refuses more than 1,000 items: the body is repeated by two loops


@tw.tile_kernel
def loads_at_constants(x, y, n: tw.Constant[int]):
    for outer in tw.static_iter(range(n // PART)):
        for inner in tw.static_iter(range(PART)):
            i = outer * PART + inner
            tw.store(y, (i,), tw.load(x, (i,), (256,)) + 1.0)


@tw.tile_kernel
def loads_of_blocks(x, y, n: tw.Constant[int]):
    first = tw.bid(0) * n
    for outer in tw.static_iter(range(n // PART)):
        for inner in tw.static_iter(range(PART)):
            i = first + outer * PART + inner
            tw.store(y, (i,), tw.load(x, (i,), (256,)) + 1.0)


@tw.tile_kernel
def branches(x, y, n: tw.Constant[int]):
    b = tw.bid(0)
    t = tw.load(x, (b,), (256,))
    for outer in tw.static_iter(range(n // PART)):
        for inner in tw.static_iter(range(PART)):
            if b > outer * PART + inner:
                t = t + 1.5
    tw.store(y, (b,), t)


@tw.tile_kernel
def arithmetic(x, y, n: tw.Constant[int]):
    b = tw.bid(0)
    t = tw.load(x, (b,), (256,))
    for outer in tw.static_iter(range(n // PART)):
        for inner in tw.static_iter(range(PART)):
            t = t * 1.5 + (outer * PART + inner + 0.25)
    tw.store(y, (b,), t)


KERNELS = {
    "load, add, store; constant index": loads_at_constants, "load, add, store; index of the block": loads_of_blocks,
    "branch": branches, "multiply and add": arithmetic,
}


def measure(kernel: Any, length: int) -> tuple[float, float]:
    """Milliseconds of this process per repetition, and LLVM's share of what the backend takes."""
    from tilewright.backend_ptx.compile import compile_kernel
    from tilewright.backend_ptx.targets import get_target
    from tilewright.frontend import translate
    from tilewright.tileir.passes import run_pipeline

    array = tw.spec("f32[1048576]")
    clock: Callable[[], float] = time.process_time
    start = clock()
    function = translate(kernel.__wrapped__, kernel.arg_specs(array, array, length))
    run_pipeline(function)
    timings = compile_kernel(function, get_target(TARGET), judge=lambda plan: None).timings
    total = clock() - start
    llvm = sum(seconds for name, seconds in timings.items() if name.startswith("llvm"))
    return total * 1e3 / length, llvm / sum(timings.values())


def rows() -> Iterator[str]:
    for name, kernel in KERNELS.items():
        measure(kernel, PART)
        for length in LENGTHS:
            each, llvm = measure(kernel, length)
            yield f"{name:<36}{length:6} times {each:6.2f} ms each, LLVM {llvm:.0%} of the backend"


if __name__ == "__main__":
    for line in rows():
        print(line, flush=True)
