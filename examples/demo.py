"""The tour: run a kernel on NumPy arrays, check it, then read its Tile IR and the head of its PTX."""

import numpy as np
from softmax import softmax

import tilewright as tw


def main() -> None:
    x = np.random.default_rng(0).standard_normal((512, 1000), dtype=np.float32)
    out = np.empty_like(x)
    softmax[(512,)](x, out, 1024)  # host arrays: the interpreter runs it, no GPU needed

    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    worst = np.max(np.abs(out - e / e.sum(axis=1, keepdims=True)))
    assert worst < 1e-7, worst
    print(f"softmax of 512 x 1000 agrees with NumPy, largest difference {worst:.2g}\n")

    print("--- Tile IR ---")
    print(softmax.ir(x, out, 1024))
    print("--- the head of its PTX for sm_90a ---")
    ptx = softmax.ptx(tw.spec("f32[512,1000]"), tw.spec("f32[512,1000]"), 1024, target="sm_90a")
    print("\n".join(ptx.splitlines()[:40]))


if __name__ == "__main__":
    main()
