"""Shipping: a matrix product compiled ahead into a bundle, with what it is built from, what loads it, and the C loader.

The bundle lies in a folder: code for the listed GPUs, a manifest with digests, tables and loader for C. A server that
loads it compiles nothing. `examples/c/gemm.c` launches the same code without Python.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw

TILES = 128, 256, 64
C_PROGRAM = Path(__file__).parent / "c" / "gemm.c"


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


def build(folder: Path) -> Path:
    """What `tilewright build examples/shipping.py -o bundle` does with `spec`."""
    spec.build(folder / "bundle")
    return folder / "bundle"


spec = tw.bundles.BundleSpec(targets=["sm_80", "sm_90a"], licences={"matmul": "Apache-2.0"})
matrix = "bf16[1024,1024]"  # extents stand for what is known of them: these are multiples of 16
spec.add(matmul, matrix, matrix, matrix, *TILES, symbol="matmul")


def main() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((512, 1024), (1024, 768)))
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    with tempfile.TemporaryDirectory() as name:
        folder = build(Path(name))
        bundle = tw.load_bundle(folder)
        print(f"{sum(path.stat().st_size for path in folder.iterdir())} bytes in {len(list(folder.iterdir()))} files, "
              f"kernels: {', '.join(bundle)}")
        for place in places():
            da, db, dc = place.put(a, b, np.zeros((512, 768), ml_dtypes.bfloat16))
            # In the interpreter the kernel itself runs: a bundle has no source. On a GPU its code does.
            kernel = bundle["matmul"] if place.name == "GPU" else matmul
            kernel[(tw.cdiv(512, TILES[0]), tw.cdiv(768, TILES[1]))](da, db, dc, *TILES)
            check("a product of matrices, shipped", place, place.get(dc), want)
        in_c(folder)
        bundle.unload()


def in_c(bundle: Path) -> None:
    """Build the C program and run it, where there are a compiler, the driver's header and a GPU."""
    compiler, header = shutil.which("cc"), Path("/usr/local/cuda/include")
    if compiler is None or not (header / "cuda.h").is_file() or not tw.gpu_available():
        return
    program = bundle / "gemm"
    subprocess.run([compiler, "-std=c99", f"-I{bundle}", f"-I{header}", C_PROGRAM, bundle / "tilewright.c",
                    "-L/usr/local/cuda/lib64/stubs", "-lcuda", "-o", program], check=True)
    subprocess.run([program, bundle], check=True)


if __name__ == "__main__":
    main()
