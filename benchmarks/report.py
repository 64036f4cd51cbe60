"""What the compiler made of each kernel: registers, spills, shared memory, matrix instruction, compile and launch time.

Without a GPU the code is for sm_90a and ptxas assembles it; with one the driver does, and launches are timed too.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

MATRIX_SASS = re.compile(r"\b([A-Z]*MMA\.[\w.]+)")
MATRIX_PTX = re.compile(r"\b((?:wgmma\.mma_async|mma)\.sync\.[\w.]+)")


@dataclass(frozen=True)
class Report:
    """One kernel. Times are milliseconds by stage, bytes are per block (spills: per thread), launch in microseconds."""

    name: str
    target: str
    warps: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    resident_warps: int
    matrix: str
    stages: dict[str, float] = field(default_factory=dict)
    launch: float | None = None

    def text(self) -> str:
        total = sum(self.stages.values())
        stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in self.stages.items())
        launch = "" if self.launch is None else f"  launch {self.launch:.1f} us"
        return (f"{self.name:<36} {self.warps:>2} warps ({self.resident_warps:>2} on an SM)  "
                f"{self.registers:>3} registers, {self.spill_bytes} bytes spilled  "
                f"{self.shared_bytes / 1024:6.1f} KiB shared  {self.matrix:<34} "
                f"{total:6.1f} ms ({stages}){launch}")


@dataclass(frozen=True)
class Work:
    """A kernel for arguments given as texts of specs, or as what they are; `grid` covers them."""

    name: str
    kernel: Any
    args: tuple[Any, ...]
    grid: tuple[int, ...]


def rows() -> Iterator[Report | str]:
    from tilewright.tileir.diagnostics import TileError

    for work in works():
        try:
            yield examine(work)
        except TileError as error:
            yield f"{work.name:<36} {type(error).__name__}: {str(error).splitlines()[0]}"


def works() -> Iterator[Work]:
    """The kernels of the other groups, at one of their sizes each."""
    from online_softmax import online_softmax
    from softmax import softmax
    from transpose import transpose
    from vector_add import vector_add

    from benchmarks.gemv_kernels import gemv_columns, gemv_rows, skinny
    from benchmarks.row_kernels import layer_norm, rms_norm, row_sum, scaled_relu

    vector = "f32[134217728]"
    yield Work("vector add, 2048", vector_add, (vector, vector, vector, 2048), (65536,))
    yield Work("scaled relu, 1x4096", scaled_relu, ("f32[16384,8192]", "f32[16384,8192]", 0.5, 1.0, 1, 4096),
               (2, 16384))
    for n in (1024, 16384):
        yield Work(f"row sum, {n}", row_sum, (f"f32[8192,{n}]", "f32[8192]", 1, n), (8192,))
    for n in (1024, 4096, 8192, 16384, 32768, 65536):
        yield Work(f"softmax bf16, {n}", softmax, (f"bf16[4096,{n}]", f"bf16[4096,{n}]", n), (4096,))
    for n in (65536, 131072):
        yield Work(f"softmax f32, {n}", softmax, (f"f32[2048,{n}]", f"f32[2048,{n}]", n), (2048,))
    yield Work("online softmax f32, chunks of 8192", online_softmax, ("f32[2048,65536]", "f32[2048,65536]", 8192),
               (2048,))
    for n in (1024, 4096, 16384):
        x, w = f"bf16[8192,{n}]", f"bf16[{n}]"
        yield Work(f"rms norm bf16, {n}", rms_norm, (x, w, x, 1e-5, 1, n), (8192,))
        yield Work(f"layer norm bf16, {n}", layer_norm, (x, w, w, x, 1e-5, 1, n), (8192,))
    square = "bf16[16384,16384]"
    yield Work("transpose bf16, 128x128", transpose, (square, square, 128, 128), (128, 128))
    one, turns = "bf16[1,16384]", "i32[16384]"
    yield Work("gemv bf16 w[n,k], 4x1024", gemv_rows, (square, "bf16[16384]", "bf16[16384]", 4, 1024), (4096,))
    yield Work("gemv bf16 w[k,n], 32x256", gemv_columns,
               (square, "bf16[16384]", "f32[8,1,16384]", turns, one, 32, 256), (64, 8))
    for m in (16, 64):
        x = f"bf16[{m},16384]"
        yield Work(f"gemm bf16 {m} rows, w[n,k], 64x128", skinny,
                   (x, square, f"f32[1,{m},16384]", turns, x, m, 64, 128, True, False), (256, 1))
    yield from products()


def products() -> Iterator[Work]:
    """Matrix products, plain and persistent, fused and chained, in clusters, and attention."""
    from benchmarks import kernels

    a, f, v, w = "bf16[4096,4096]", "f32[4096,4096]", "bf16[4096]", "bf16[64,1024,1024]"
    for m, n in ((128, 128), (128, 256), (256, 128), (512, 128), (256, 256)):
        for kernel, grid in ((kernels.matmul, _blocks(m, n)), (kernels.persistent_matmul, SMS)):
            yield Work(f"{kernel.__name__} bf16, {m}x{n}x64", kernel, (a, a, a, m, n, 64, 8, False), grid)
    yield Work("persistent_matmul tf32, 128x256x32", kernels.persistent_matmul, (f, f, f, 128, 256, 32, 8, True), SMS)
    for tile, fast in (((128, 256, 128), True), ((128, 128, 256), False)):
        eight = "e4m3[4096,4096]"
        name = f"gemm e4m3, {'x'.join(map(str, tile))}, {'fast' if fast else 'float32'}"
        yield Work(name, kernels.matmul8, (eight, eight, a, *tile, 8, fast), SMS)
    yield Work("bmm bf16, 128x256x64", kernels.batched_matmul, (w, w, w, 128, 256, 64), SMS)
    wide = _blocks(128, 256)
    yield Work("gemm and gelu bf16, 128x256x64", kernels.linear_gelu, (a, a, v, a, 128, 256, 64, 8), wide)
    yield Work("the same, persistent", kernels.persistent_linear_gelu, (a, a, v, a, 128, 256, 64, 8, False), SMS)
    yield Work("gated gemm bf16, 128x128x64", kernels.gated, (a, a, a, a, 128, 128, 64, 8), _blocks(128, 128))
    yield Work("dequantised gemm, 128x256x64", kernels.dequantised_matmul,
               ("i8[4096,4096]", "f32[4096]", a, a, 128, 256, 64, 8), wide)
    yield Work("gathered gemm, 128x256x64", kernels.gathered_matmul, (a, a, "i32[4096]", a, 128, 256, 64, 8), wide)
    yield Work("chained gemm, 128x128x64", kernels.chained, ("bf16[16384,1024]", "bf16[1024,128]", "bf16[128,128]",
                                                            "bf16[16384,128]", 128, 128, 64, 128), (128, 1))
    for d in (128, 64):
        q = f"bf16[128,4096,{d}]"
        for causal in (False, True):
            yield Work(f"attention bf16, d={d}{', causal' if causal else ''}, 128x128", kernels.attention,
                       (q, q, q, q, 0.1, 128, 128, d, causal), (32, 128))


SMS = (132,)  # of an H100 or H200: one block each for kernels that walk over tiles


def _blocks(m: int, n: int) -> tuple[int]:
    """As many blocks as 4096x4096 has tiles."""
    return (4096 // m * (4096 // n),)


def examine(work: Work) -> Report:
    """Compile a kernel twice (the first run warms caches of the process up) and look at the second."""
    import tilewright as tw
    from tilewright.backend_ptx.runtime import driver
    from tilewright.estimating.occupancy import limits_of

    specs = tuple(tw.spec(a) if isinstance(a, str) else a for a in work.args)
    on_gpu = driver.available()
    compiled, stages = _timed_stages(work, specs, None if on_gpu else "sm_90a")
    compiled, stages = _timed_stages(work, specs, None if on_gpu else "sm_90a")
    start = time.perf_counter()
    cubin, registers, spilled, static = _assembled(compiled, on_gpu)
    stages["driver" if on_gpu else "ptxas"] = (time.perf_counter() - start) * 1e3
    warps, shared = compiled.threads // 32, compiled.shared_bytes + static
    resident = min(limits_of(registers, compiled.threads, shared, compiled.target).values())
    return Report(
        work.name, compiled.target.name, warps, registers, spilled, shared, resident * warps,
        _matrix(cubin, compiled.ptx), stages,
        _launch_cost(work) if on_gpu and importlib.util.find_spec("torch") is not None else None)


def _timed_stages(work: Work, specs: tuple[Any, ...], target: str | None) -> tuple[Any, dict[str, float]]:
    """The kernel as PTX, and milliseconds by stage."""
    from tilewright.frontend import translate
    from tilewright.tileir.passes import run_pipeline

    kernel = work.kernel
    arguments = kernel.arg_specs(*specs)
    start = time.perf_counter()
    function = translate(kernel.__wrapped__, arguments)
    translated = time.perf_counter()
    run_pipeline(function)
    optimised = time.perf_counter()
    compiled = kernel.compiled(*specs, target=target)
    stages = {"frontend": translated - start, "passes": optimised - translated}
    stages |= {stage: seconds for stage, seconds in compiled.timings.items() if stage != "total"}
    return compiled, {stage: seconds * 1e3 for stage, seconds in stages.items()}


def _assembled(compiled: Any, on_gpu: bool) -> tuple[bytes, int, int, int]:
    """(cubin, registers, spilled or local bytes of a thread, shared bytes that the code itself declares)."""
    from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas

    if not on_gpu or has_ptxas():
        made = assemble(compiled.ptx, compiled.target, kernel=compiled.name)
        return made.cubin, made.registers, made.spills, made.shared_bytes
    from tilewright.backend_ptx.runtime import driver
    from tilewright.backend_ptx.runtime.link import link_ptx

    driver.get_device(driver.current_ordinal()).make_current()
    cubin, _ = link_ptx(compiled.ptx, compiled.name)
    return cubin, *_attributes(cubin, compiled.name)


def _attributes(cubin: bytes, name: str) -> tuple[int, int, int]:
    """Registers, local bytes (spills and stack) and static shared bytes, as the driver tells them."""
    from tilewright.backend_ptx.runtime.driver import check, driver

    cuda = driver()
    module = check(cuda.cuModuleLoadData(cubin), "cuModuleLoadData")
    handle = check(cuda.cuModuleGetFunction(module, name.encode()), "cuModuleGetFunction")
    which = cuda.CUfunction_attribute
    codes = (which.CU_FUNC_ATTRIBUTE_NUM_REGS, which.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
             which.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    registers, local, shared = (int(check(cuda.cuFuncGetAttribute(c, handle), "cuFuncGetAttribute")) for c in codes)
    check(cuda.cuModuleUnload(module), "cuModuleUnload")
    return registers, local, shared


def _matrix(cubin: bytes, ptx: str) -> str:
    """The matrix instruction that occurs most: of the machine code where it can be read, else of the PTX."""
    from tilewright.inspecting.sass import disassemble
    from tilewright.tileir.diagnostics import TileError

    try:
        found = Counter(MATRIX_SASS.findall(disassemble(cubin)))
    except TileError:
        found = Counter(MATRIX_PTX.findall(ptx))
    return found.most_common(1)[0][0] if found else "no matrix instruction"


def _launch_cost(work: Work) -> float:
    """Host microseconds of a launch of one block with small arrays of the same kinds."""
    from benchmarks.launch import host_cost

    args = tuple(_small_array(a) if isinstance(a, str) else a for a in work.args)
    run = lambda: work.kernel[(1,)](*args)  # noqa: E731
    run()
    return host_cost(run, launches=200, rounds=5)


def _small_array(spec: str, most: int = 256) -> Any:
    """Zeros of the spec's dtype and rank, no axis longer than `most`."""
    import torch

    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32,
              "i8": torch.int8, "e4m3": torch.float8_e4m3fn}
    dtype, extents = spec.rstrip("]").split("[")
    return torch.zeros([min(int(n), most) for n in extents.split(",")], dtype=dtypes[dtype], device="cuda")


if __name__ == "__main__":
    for made in rows():
        print(made if isinstance(made, str) else made.text())
