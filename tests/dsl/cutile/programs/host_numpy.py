"""Host code on NumPy and a module beside the program; other modules of the package cuda stay what they are."""

import sys

import numpy as np
from beside import cumulative

import cuda.tile

try:
    import cuda.bindings.driver as driver
except ImportError:
    driver = None

x = np.arange(1, 9, dtype=np.int32)
out = np.zeros_like(x)
cuda.tile.launch(0, (1,), cumulative, (x, out))
print("cumulative", out.tolist(), driver is None or driver.__name__, sys.argv[1:], __name__, __file__.split("/")[-1])
