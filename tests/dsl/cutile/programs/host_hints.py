"""The same function with other hints, by the names of cuTile's kernels that programs use."""

import cuda.tile as ct
import numpy as np


@ct.kernel
def triple(x, out, tile: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), 3 * ct.load(x, (ct.bid(0),), (tile,)))


tuned = ct.kernel(triple._pyfunc, occupancy=4)
x = np.arange(40, dtype=np.float32)
out = np.zeros_like(x)
ct.launch(None, (5,), tuned, (x, out, 8))
print("triple", bool((out == 3 * x).all()), tuned.hints.occupancy, tuned._pyfunc is triple._pyfunc)
