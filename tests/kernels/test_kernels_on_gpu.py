"""Every function of tilewright.kernels on a GPU, on arrays of to_device, against its NumPy reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.library_cases import GROUPS, compare, maker

import tilewright as tw
import tilewright.kernels as tk

# They take some rows of an array at a time, and a DeviceArray cannot be sliced.
SLICED = {"linear_cross_entropy", "linear_cross_entropy_backward"}


def moved(value: Any) -> Any:
    """On the GPU; parts of arrays as copies, because a DeviceArray that is not contiguous has no other shape."""
    if not isinstance(value, np.ndarray):
        return value
    return tw.to_device(value, keep_strides=value.flags.c_contiguous or value.flags.f_contiguous)


def fetched(result: Any) -> Any:
    return tuple(x.to_host() for x in result) if isinstance(result, tuple) else result.to_host()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_against_the_reference(group: Callable[..., Any], dtype: Any) -> None:
    for name, args in group(maker(dtype)):
        if name not in SLICED:
            compare(name, args, fetched(tk.DECLARED[name](*map(moved, args))), dtype)


@pytest.mark.gpu
def test_the_gradient_of_an_embedding_in_one_order() -> None:
    """The same bits in every run, though blocks come in any order: in float32 another order gives others."""
    rng = np.random.default_rng(5)
    tokens = tw.to_device(rng.integers(0, 40, 5000).astype(np.int32))
    grad = tw.to_device((rng.standard_normal((5000, 96)) * 10.0 ** rng.integers(-3, 4, (5000, 1))).astype(np.float32))
    first = tk.embedding_backward(grad, tokens, 40, True).to_host()
    for _ in range(5):
        np.testing.assert_array_equal(tk.embedding_backward(grad, tokens, 40, True).to_host(), first)
