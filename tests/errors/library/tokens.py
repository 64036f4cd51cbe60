"""Tokens that are no integers."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.embedding(np.zeros((5, 4)), np.zeros(3))
