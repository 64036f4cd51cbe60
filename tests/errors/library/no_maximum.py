"""The maximum of nothing."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.reduce(np.zeros((2, 0)), "max", (1,))
