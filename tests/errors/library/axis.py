"""An axis that the array does not have."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.softmax(np.zeros((2, 3)), axis=2)
