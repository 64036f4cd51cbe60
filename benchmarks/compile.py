"""Time from a Python function to machine code in a warm process, stage by stage.

On a GPU the last stage is the driver's assembler, as at a first launch, and the code is for that GPU; elsewhere it is
ptxas, and the code is for sm_90a. No cache takes part: neither ours nor the driver's.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

ROUNDS = 15
TARGET = "sm_90a"


class Assembler(NamedTuple):
    """What makes machine code of PTX: `run(ptx, name of the kernel)`."""

    name: str
    run: Callable[[str, str], object]


def kernels() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    from softmax import softmax
    from vector_add import vector_add

    import tilewright as tw
    from benchmarks.kernels import attention, matmul, persistent_matmul
    from benchmarks.row_kernels import scaled_relu

    vector, matrix, wide = tw.spec("f32[1048576]"), tw.spec("f32[4096,1024]"), tw.spec("f32[4096,4096]")
    yield "vector add, tile 1024", vector_add, (vector, vector, vector, 1024)
    yield "relu(x)*0.5+1, tile 1x4096", scaled_relu, (wide, wide, 0.5, 1.0, 1, 4096)
    yield "softmax, 1024 columns", softmax, (matrix, matrix, 1024)
    square = tw.spec("bf16[4096,4096]")
    yield "matmul bf16, 128x256x64", matmul, (square, square, square, 128, 256, 64, 8, False)
    yield "persistent matmul bf16, 128x256x64", persistent_matmul, (square, square, square, 128, 256, 64, 8, False)
    heads = tw.spec("bf16[64,4096,128]")
    for name, causal in (("attention", False), ("causal attention", True)):
        yield f"{name} bf16, 128x128x128", attention, (heads, heads, heads, heads, 0.088, 128, 128, 128, causal)


def stages(kernel: Any, args: tuple[Any, ...], target: Any, assembler: Assembler | None) -> dict[str, float]:
    """Milliseconds by stage of one full compilation."""
    from tilewright.backend_ptx.compile import compile_kernel
    from tilewright.frontend import translate
    from tilewright.tileir.passes import run_pipeline

    specs = kernel.arg_specs(*args)
    start = time.perf_counter()
    function = translate(kernel.__wrapped__, specs)
    translated = time.perf_counter()
    run_pipeline(function)
    optimised = time.perf_counter()
    # The assembler that is timed below is the one that judges plans at a launch: it is not asked twice.
    compiled = compile_kernel(function, target, judge=lambda plan: None)
    written = time.perf_counter()
    out = {"frontend": translated - start, "passes": optimised - translated}
    out |= {name: seconds for name, seconds in compiled.timings.items() if name != "total"}
    if assembler is not None:
        # A remark makes the text new to the driver, which keeps what it has assembled once.
        ptx = f"{compiled.ptx}\n// {time.time_ns()}\n"
        begin = time.perf_counter()
        assembler.run(ptx, compiled.name)
        out[assembler.name] = time.perf_counter() - begin
    out["total"] = written - start + (out[assembler.name] if assembler is not None else 0.0)
    return {name: seconds * 1e3 for name, seconds in out.items()}


def find_assembler() -> tuple[Any, Assembler | None]:
    """The target and the assembler; no assembler where there is neither a GPU nor ptxas."""
    from tilewright.backend_ptx.runtime import driver, ptxas
    from tilewright.backend_ptx.targets import get_target

    if driver.available():
        device = driver.get_device(driver.current_ordinal())
        device.make_current()
        return device.target, Assembler("driver", by_driver)
    target = get_target(TARGET)
    if not ptxas.has_ptxas():
        return target, None
    return target, Assembler("ptxas", lambda ptx, name: ptxas.assemble(ptx, target, kernel=name))


def by_driver(ptx: str, name: str) -> None:
    """As at a launch."""
    from tilewright.backend_ptx.runtime.driver import check, driver
    from tilewright.backend_ptx.runtime.link import load_ptx

    module, _ = load_ptx(ptx, name)
    check(driver().cuModuleUnload(module), "cuModuleUnload")


def rows(rounds: int = ROUNDS) -> Iterator[str]:
    target, assembler = find_assembler()
    what = "PTX" if assembler is None else "machine code"
    for name, kernel, args in kernels():
        stages(kernel, args, target, assembler)
        runs = [stages(kernel, args, target, assembler) for _ in range(rounds)]
        median = {stage: statistics.median(r[stage] for r in runs) for stage in runs[0]}
        least = min(r["total"] for r in runs)
        detail = ", ".join(f"{stage} {ms:.1f}" for stage, ms in median.items() if stage != "total")
        yield f"{name:<34}  {median['total']:6.1f} ms to {what} ({detail}; least {least:.1f})"


if __name__ == "__main__":
    for line in rows():
        print(line)
