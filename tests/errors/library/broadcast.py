"""Shapes that do not broadcast."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.transform(lambda a, b: a + b, np.zeros(3), np.zeros(4))
