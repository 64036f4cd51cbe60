"""Matrices that cannot be multiplied."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.matmul(np.zeros((2, 3)), np.zeros((2, 3)))
