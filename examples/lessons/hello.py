"""The kernel of the first page, docs/index.md."""

# %% A kernel
import numpy as np

import tilewright as tw


@tw.tile_kernel
def add(x, y, out, tile: tw.Constant[int]):
    i = tw.bid(0)                           # which block am I
    a = tw.load(x, i, tile)                 # the i-th tile of x
    b = tw.load(y, i, tile)
    tw.store(out, i, a + b)                 # elements past the end are skipped


x, y = np.ones(1000, np.float32), np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
add[(tw.cdiv(1000, 256),)](x, y, out, 256)  # NumPy arrays: the interpreter runs it
print(out[:4], out[-1])                     # [1. 2. 3. 4.] 1000.0
