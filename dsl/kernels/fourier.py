"""Discrete Fourier transforms whose length is a power of two."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tilewright.arguments.arrays import named_dtype
from tilewright.kernels.arrays import Array, count, dtype_of, empty, is_tensor, output, view, view_of_output
from tilewright.kernels.checks import check_choice, check_float
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import fourier as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.launching import blocks, launch, number
from tilewright.kernels.plans import noted
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType

LONGEST = 65536
# Points of a block of short transforms, and bytes of the longest one that a block makes by itself, half of an SM's
# registers (H100, with 8 warps: 16384 points at 1.00 of cuFFT's rate, in two passes 0.61). Longer ones take two passes.
POINTS, MOST_BYTES_IN_REGISTERS = 2048, 16384 * 8
# Transforms side by side in a pass of two: 16 numbers of float32 are 128 bytes of a row.
BESIDE = 16
# Bytes that lie between two passes, for the second one to find them in L2 (H100: 65536 points 189 us, all at once 201).
BETWEEN = 16 << 20
SCALES = ("backward", "ortho", "forward")
ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def radices(n: int) -> tuple[int, ...]:
    """Factors of a power of two of at most 16, as few and as equal as can be, the smaller ones first."""
    bits = n.bit_length() - 1
    steps = blocks(bits, 4)
    return tuple(1 << (bits + k) // steps for k in range(steps))


def scale_of(n: int, inverse: bool, norm: str) -> float:
    """What results are multiplied by."""
    if norm == "ortho":
        return float(n**-0.5)
    return 1 / n if inverse == (norm == "backward") else 1.0


def is_complex(x: Array) -> bool:
    """Whether an array is of complex numbers, of which our dtypes have none."""
    return bool(x.is_complex()) if is_tensor(x) else "complex" in str(getattr(x, "dtype", None))


def parts_of(x: Array) -> Array:
    """A contiguous array of complex numbers as one of floats, whose last axis holds real and imaginary parts."""
    if is_tensor(x):
        return sys.modules["torch"].view_as_real(x)
    return x.view(x.real.dtype).reshape((*x.shape, 2))


def library_of(x: Array) -> Any:
    """The module of an array of complex numbers. TileTypeError for one that is not known to fill arrays."""
    found = sys.modules.get("torch" if is_tensor(x) else type(x).__module__.partition(".")[0])
    if not hasattr(found, "empty"):
        raise TileTypeError(f"fft: x is a complex {type(x).__name__}; arrays of NumPy, torch and CuPy are taken",
                            hints=["pass pairs of floats, or launch the library's kernel by tw.jax.call inside JAX"])
    return found


def contiguous(x: Array) -> Array:
    """An array of complex numbers, as a copy where it is not contiguous."""
    return x.resolve_conj().contiguous() if is_tensor(x) else library_of(x).ascontiguousarray(x)


def as_complex(parts: Array) -> Array:
    """A contiguous array whose last axis holds real and imaginary parts as one of complex numbers."""
    if is_tensor(parts):
        return noted(sys.modules["torch"].view_as_complex, parts)
    if not hasattr(parts, "view"):
        raise TileTypeError(f"there are no complex numbers in arrays of {type(parts).__name__}",
                            hints=["pass pairs=True for real and imaginary parts along a last axis"])
    return parts.view(f"complex{16 * dtype_of(parts).bytes}").reshape(tuple(parts.shape[:-1]))


def check_complex_output(function: str, out: Array, shape: Sequence[int], dtype: DType) -> None:
    """Errors for an output that is no contiguous array of this shape, of complex numbers with parts of this dtype."""
    name = f"complex{16 * dtype.bytes}"
    if tuple(out.shape) != tuple(shape) or not str(out.dtype).endswith(name):
        raise TileValueError(f"{function}: out has the shape {tuple(out.shape)} and the dtype {out.dtype}; the result "
                             f"has {tuple(shape)} and {name}")
    if not (out.is_contiguous() if is_tensor(out) else out.flags.c_contiguous):
        raise TileValueError(f"{function}: out, of shape {tuple(out.shape)}, must be contiguous, its last axis fastest")


def _result(x: Array, out: Array | None) -> Array:
    """An array like x: `out` when it fits, else a new one."""
    if not is_complex(x):
        return output("fft", out, x, x.shape)
    if out is None:
        return library_of(x).empty(tuple(x.shape), dtype=x.dtype, **({"device": x.device} if is_tensor(x) else {}))
    check_complex_output("fft", out, x.shape, named_dtype(f"float{4 * x.dtype.itemsize}"))
    return out


def fft_reference(x: Any, inverse: bool = False, norm: str = "backward") -> Any:
    """The transform in complex128; of pairs as pairs of float64."""
    import numpy as np

    pairs = not np.iscomplexobj(x)
    z = x[..., 0].astype(np.float64) + 1j * x[..., 1].astype(np.float64) if pairs else x
    transform: Any = np.fft.ifft if inverse else np.fft.fft
    y = transform(z.astype(np.complex128), norm=norm)
    return np.stack([y.real, y.imag], axis=-1) if pairs else y


def _gradient(grad: Any, inverse: Any, norm: Any) -> Any:
    """The adjoint: the other transform, with the same scale."""
    return fft(grad, not inverse, ADJOINT[norm])


@library_function(reference=fft_reference, backward=_gradient)
def fft(x: Array, inverse: bool = False, norm: str = "backward", *, out: Array | None = None) -> Array:
    """Discrete Fourier transforms along the last axis, computed in float32 (float64 of float64).

    Arguments: `x`, complex numbers (..., n) of NumPy, torch or CuPy, or floats (..., n, 2), whose last axis holds real
        and imaginary parts; n is a power of two of at most 65536.
    Options: `inverse` gives the inverse transform; `norm` says what is scaled, as in NumPy: "backward" divides inverse
        transforms by n, "forward" the others, "ortho" both by its square root; `out`, an array like `x` to write to,
        contiguous.
    Result: an array of the shape and dtype of `x`. Transforms of more than 16384 points (8192 of float64) take two
        passes, some of them at a time, with at most 16 MiB between the passes.
    Errors: TileTypeError for another dtype; TileValueError for another length, and for an unknown norm.

    Example:
        x = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], np.complex64)
        print(fft(x).real)  # [[1. 1. 1. 1.]
        #                      [4. 0. 0. 0.]]
        fft(x[:, :3])  # TileValueError
    """
    check_choice("fft", "norm", norm, SCALES)
    pairs = not is_complex(x)
    if pairs:
        check_float("fft", x=x)
    if len(x.shape) < 1 + pairs or (pairs and x.shape[-1] != 2):
        raise TileValueError(f"fft: x has the shape {tuple(x.shape)}; it must have an axis to transform, and floats a "
                             "last one of real and imaginary parts", hints=["convert real numbers to complex ones"])
    shape = tuple(x.shape[:-1] if pairs else x.shape)
    n = number(shape[-1])
    if not 0 < n <= LONGEST or n & n - 1:
        raise TileValueError(f"fft: the last axis has {n} points; it must be a power of two of at most {LONGEST}",
                             hints=["pad with zeros to a power of two: a finer spectrum of the same signal"])
    result = _result(x, out)
    m = count(shape[:-1])
    source = view(x if pairs else parts_of(contiguous(x)), (m, n, 2))
    target = view_of_output("fft", result if pairs else parts_of(result), (m, n, 2))
    launch_transforms(source, target, inverse, scale_of(n, inverse, norm))
    return result


def launch_transforms(source: Array, target: Array, inverse: bool, scale: float) -> None:
    """Transform the rows of (m, n, 2), pairs of real and imaginary parts, in one pass or in two."""
    m, n = source.shape[0], number(source.shape[1])
    dtype = wide(dtype_of(source))
    if 2 * n * dtype.bytes <= MOST_BYTES_IN_REGISTERS:
        rows = max(1, POINTS // n)
        launch(device.fourier_rows, (blocks(m, rows),), source, target, inverse, scale, rows, radices(n))
        return
    across = 1 << (n.bit_length() - 1) // 2
    along = n // across
    source, target = view(source, (m, across, along, 2)), view(target, (m, along, across, 2))
    most = max(1, min(number(m), BETWEEN // (2 * n * dtype.bytes)))
    between = empty(source, (most, across, along, 2), dtype)
    for first in range(0, number(m), most):
        now = min(most, number(m) - first)
        launch(device.fourier_columns, (now, along // BESIDE), source, between, first, inverse, BESIDE, radices(across))
        launch(device.fourier_turned_rows, (now, across // BESIDE), between, target, first, inverse, scale, BESIDE,
               radices(along))
