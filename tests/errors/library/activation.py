"""An activation that is not there."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.linear(np.zeros((2, 3)), np.zeros((4, 3)), activation="swish")
