"""Matrices of two dtypes."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.matmul(np.zeros((2, 3)), np.zeros((3, 2), np.float32))
