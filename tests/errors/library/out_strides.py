"""An output that cannot be seen as rows."""

import numpy as np

import tilewright.kernels as tk


def main() -> None:
    tk.rms_norm(np.zeros((2, 3, 4)), out=np.zeros((4, 3, 2)).T)
