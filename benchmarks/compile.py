"""Time from a Python function to PTX in a warm process, stage by stage, on the CPU alone."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def stages(kernel, args, target: str) -> dict[str, float]:
    """Milliseconds by stage of one full compilation, caches left out."""
    from tilewright.backend_ptx import compile_kernel
    from tilewright.backend_ptx.targets import get_target
    from tilewright.frontend import translate
    from tilewright.tileir.passes import run_pipeline

    specs = kernel.arg_specs(*args)
    start = time.perf_counter()
    function = translate(kernel._pyfunc, specs)
    translated = time.perf_counter()
    run_pipeline(function)
    optimised = time.perf_counter()
    compiled = compile_kernel(function, get_target(target))
    done = time.perf_counter()
    out = {"frontend": translated - start, "passes": optimised - translated}
    out |= {name: seconds for name, seconds in compiled.timings.items() if name != "total"}
    out["total"] = done - start
    return {name: seconds * 1e3 for name, seconds in out.items()}


def kernels() -> Iterator[tuple[str, object, tuple]]:
    from softmax import softmax
    from vector_add import vector_add

    import tilewright as tw
    from benchmarks.kernels import matmul

    vector = tw.spec("f32[1048576]")
    yield "vector add, tile 1024", vector_add, (vector, vector, vector, 1024)
    matrix = tw.spec("f32[4096,1024]")
    yield "softmax, 1024 columns", softmax, (matrix, matrix, 1024)
    square = tw.spec("bf16[4096,4096]")
    yield "matmul bf16, 128x128x64", matmul, (square, square, square, 128, 128, 64, 8, False)


def rows(target: str = "sm_90a", rounds: int = 15) -> Iterator[str]:
    for name, kernel, args in kernels():
        stages(kernel, args, target)
        runs = [stages(kernel, args, target) for _ in range(rounds)]
        medians = {stage: statistics.median(r[stage] for r in runs) for stage in runs[0]}
        detail = ", ".join(f"{stage} {ms:.1f}" for stage, ms in medians.items() if stage != "total")
        yield f"{name:<28} {medians['total']:6.1f} ms to PTX ({detail})"


if __name__ == "__main__":
    for line in rows():
        print(line)
