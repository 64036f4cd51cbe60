"""Kernels compiled ahead: a bundle of a hundred, loaded and launched; exported products beside compiled ones.

`python -m benchmarks exports`. Both products alternate in one run; results are compared to the bit, and to torch's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tilewright as tw
from benchmarks._timing import Row, alternate
from tilewright.launching import native

KERNELS = 100
# m, n, k and tiles: a product that is long for each block, and one whose blocks are so short that it shows whether CTAs
# loop over them.
PRODUCTS = ((8192, 8192, 8192, (128, 256, 64)), (16384, 1024, 1024, (128, 128, 64)))
ROOT = Path(__file__).parents[1]


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def affine(x, out, scale: float, tile: tw.Constant[int], shift: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) * scale + shift)


def as_ptx(folder: Path) -> Any:
    """The products as PTX, which the driver assembles when it is loaded, as it does what is compiled at a launch."""
    from tilewright.backend_ptx.runtime.driver import get_device

    spec = tw.bundles.BundleSpec(targets=[get_device(0).target.name], code="ptx")
    for m, n, k, tiles in PRODUCTS:
        spec.add(matmul, f"bf16[{m},{k}]", f"bf16[{k},{n}]", f"bf16[{m},{n}]", *tiles)
    spec.build(folder / "ptx")
    loaded = tw.load_bundle(folder / "ptx")
    loaded.unload()
    return loaded["matmul"]


def built(folder: Path) -> Path:
    """The bundle: the products, and as many kernels of another kind as make a hundred."""
    from tilewright.backend_ptx.runtime.driver import get_device

    spec = tw.bundles.BundleSpec(targets=[get_device(0).target.name])
    for number, (m, n, k, tiles) in enumerate(PRODUCTS):
        symbol = f"matmul_{number}" if number else "matmul"
        spec.add(matmul, f"bf16[{m},{k}]", f"bf16[{k},{n}]", f"bf16[{m},{n}]", *tiles, symbol=symbol)
    for shift in range(KERNELS - len(PRODUCTS)):
        spec.add(affine, "f32[?]", "f32[?]", "f32", 256, shift)
    spec.build(folder / "bundle")
    return folder / "bundle"


LOADED = """
import sys, time
import numpy as np
import tilewright as tw
from tilewright.backend_ptx.runtime.driver import get_device

get_device(0).make_current()
x, out = (tw.to_device(np.arange(1000, dtype=np.float32)) for _ in range(2))
start = time.perf_counter()
bundle = tw.load_bundle(sys.argv[1])
loaded = time.perf_counter()
affine = bundle["affine"]
for shift in range(98):
    affine[(4,)](x, out, 2.0, 256, shift)
got = out.to_host()
ended = time.perf_counter()
assert (got == 2 * np.arange(1000) + 97).all()
parts = "llvmlite", "tilewright.backend_ptx.lower", "tilewright.frontend"
heavy = [name for name in sys.modules if name.startswith(parts)]
assert not heavy, heavy
print(f"{1e3 * (loaded - start):.0f} {1e3 * (ended - loaded):.0f}")
"""


def loading(bundle: Path) -> str:
    """A process that loads the bundle and launches each kernel once, without LLVM, passes or the frontend."""
    native.build()  # machine code of launches is made once for a machine, with LLVM
    done = subprocess.run([sys.executable, "-c", LOADED, str(bundle)], capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_NO_JIT": "1"})
    if done.returncode:
        raise SystemExit(done.stderr)
    load, first = map(float, done.stdout.split())
    return (f"bundle of {KERNELS} kernels: loaded in {load:.0f} ms, first launches of {KERNELS - len(PRODUCTS)} in "
            f"{first:.0f} ms, nothing compiled")


def in_c(bundle: Path, folder: Path) -> str:
    """The C example, built with the toolkit's cuda.h where there is one."""
    header = next((path for path in map(Path, INCLUDES) if (path / "cuda.h").is_file()), None)
    compiler = shutil.which("gcc") or shutil.which("cc")
    if header is None or compiler is None:
        return "C loader: not run, there is no cuda.h or no C compiler here"
    program = folder / "gemm"
    command = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{header}", f"-I{bundle}",
               str(ROOT / "examples" / "c" / "gemm.c"), str(bundle / "tilewright.c"), "-o", str(program), *_libraries()]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        raise SystemExit(built.stderr)
    done = subprocess.run([program, bundle], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return f"C loader: {done.stdout.strip()}"


INCLUDES = ["/usr/local/cuda/include", *(f"{place}/nvidia/cu13/include" for place in sys.path),
            *(f"{place}/nvidia/cuda_runtime/include" for place in sys.path)]


def _libraries() -> list[str]:
    """The driver's library, also where only its numbered file is there."""
    found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    paths = [line.split("=> ")[1] for line in found.splitlines() if "libcuda.so" in line]
    return paths[:1] or ["-lcuda"]


def product(exported: Any, text: Any, m: int, n: int, k: int, tiles: tuple[int, int, int]) -> Row:
    """One product by code of a bundle, as machine code and as PTX, by a launch that compiled it, and by torch."""
    import torch

    torch.manual_seed(0)
    a, b = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (k, n)))
    ours, theirs = (torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    grid = tw.cdiv(m, tiles[0]), tw.cdiv(n, tiles[1])
    exported[grid](a, b, ours, *tiles)
    matmul[grid](a, b, theirs, *tiles)
    assert torch.equal(ours, theirs), "the exported product differs from the compiled one"
    torch.testing.assert_close(ours, a @ b, rtol=2e-2, atol=1.0)
    times = alternate({
        "exported": lambda: exported[grid](a, b, ours, *tiles),
        "compiled": lambda: matmul[grid](a, b, theirs, *tiles),
        "exported as PTX": lambda: text[grid](a, b, ours, *tiles), "torch": lambda: torch.matmul(a, b)}, rounds=40,
        queued=True)
    return Row(f"matmul bfloat16 {m}x{n}x{k}, exported", times, flops=2.0 * m * n * k)


def rows() -> Iterator[Row | str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = built(folder)
        yield loading(bundle)
        loaded: Any = tw.load_bundle(bundle)
        exported = loaded["matmul"]
        loaded.unload()
        text = as_ptx(folder)
        for m, n, k, tiles in PRODUCTS:
            yield product(exported, text, m, n, k, tiles)
        yield in_c(bundle, folder)
