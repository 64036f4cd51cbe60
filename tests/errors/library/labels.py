"""Labels for other rows."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.cross_entropy(np.zeros((2, 3)), np.zeros(3, np.int32))
