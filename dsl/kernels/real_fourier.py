"""Discrete Fourier transforms of real numbers, and back, whose length is a power of two."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, empty, output, view, view_of_output
from tilewright.kernels.checks import check_choice, check_float
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import real_fourier as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.fourier import (
    BESIDE,
    BETWEEN,
    LONGEST,
    MOST_BYTES_IN_REGISTERS,
    POINTS,
    SCALES,
    as_complex,
    check_complex_output,
    contiguous,
    is_complex,
    launch_transforms,
    parts_of,
    radices,
    scale_of,
)
from tilewright.kernels.launching import blocks, launch, number
from tilewright.kernels.tiles import measured
from tilewright.tileir.diagnostics import TileTypeError, TileValueError

# Points of a block that makes a long transform of a spectrum.
TILE = 1024


def rfft_reference(x: Any, norm: str = "backward", pairs: bool = False) -> Any:
    """The spectrum in complex128; with `pairs` as pairs of float64."""
    import numpy as np

    y: Any = np.fft.rfft(x.astype(np.float64), norm=norm)  # type: ignore[arg-type]
    return np.stack([y.real, y.imag], axis=-1) if pairs else y


def irfft_reference(x: Any, norm: str = "backward") -> Any:
    """The real numbers in float64."""
    import numpy as np

    return np.fft.irfft(_complex(x), norm=norm)  # type: ignore[arg-type]


def rfft_backward_reference(grad: Any, norm: str = "backward") -> Any:
    """The gradient of rfft: the sum over the points of the spectrum of what each gives to a number."""
    import numpy as np

    z = _complex(grad)
    n = 2 * (z.shape[-1] - 1)
    turns = np.exp(2j * np.pi / n * np.outer(np.arange(n // 2 + 1), np.arange(n)))
    return (z @ turns).real * scale_of(n, False, norm)


def irfft_backward_reference(grad: Any, norm: str = "backward", pairs: bool = False) -> Any:
    """The gradient of irfft."""
    import numpy as np

    n = grad.shape[-1]
    y = np.fft.rfft(grad.astype(np.float64)) * scale_of(n, True, norm)
    y[..., 1:-1] *= 2
    return np.stack([y.real, y.imag], axis=-1) if pairs else y


def _complex(x: Any) -> Any:
    import numpy as np

    return x.astype(np.complex128) if np.iscomplexobj(x) else x[..., 0].astype(np.float64) + 1j * x[..., 1]


def _in_registers(points: int, dtype: Any) -> bool:
    return 2 * points * int(dtype.bytes) <= MOST_BYTES_IN_REGISTERS


def _spectrum(function: str, x: Array, factor: float, scaled: bool, norm: str, pairs: bool, out: Array | None) -> Array:
    """Half of the spectrum of real numbers, but for its ends times `factor`."""
    check_choice(function, "norm", norm, SCALES)
    if is_complex(x):
        raise TileTypeError(f"{function}: x is complex; it must hold real numbers", hints=["fft takes complex ones"])
    check_float(function, x=x)
    if len(x.shape) == 0:
        raise TileValueError(f"{function}: x has no axis")
    if not pairs and dtype_of(x).name not in ("float32", "float64"):
        raise TileTypeError(f"{function}: x has the dtype {dtype_of(x)}, of which there are no complex numbers",
                            hints=["pass pairs=True for real and imaginary parts along a last axis"])
    n = _check_length(function, "x", number(x.shape[-1]))
    half, m = n // 2, count(x.shape[:-1])
    shape = (*x.shape[:-1], half + 1, 2)
    if out is not None and not pairs:
        check_complex_output(function, out, shape[:-1], dtype_of(x))
        result = parts_of(out)
    else:
        result = output(function, out, x, shape)
    final = result if pairs else out if out is not None else as_complex(result)
    source, target = view(x, (m, half, 2)), view_of_output(function, result, (m, half + 1, 2))
    scale, dtype = scale_of(n, scaled, norm), wide(dtype_of(x))
    if _in_registers(half, dtype):
        found = measured("rfft", source, n=n)
        rows = max(1, (found["points"] if found else POINTS) // half)
        launch(device.real_rows, (blocks(m, rows),), source, target, scale, factor, rows, radices(half))
        return final
    launch_real_transforms(source, target, scale, factor)
    return final


def launch_real_transforms(source: Array, target: Array, scale: float, factor: float) -> None:
    """Half of the spectra of rows of real numbers, (m, h, 2), into (m, h + 1, 2), in two passes."""
    m, half = number(source.shape[0]), number(source.shape[1])
    dtype = wide(dtype_of(source))
    across = 1 << half.bit_length() // 2
    along = 2 * half // across
    source = view(source, (source.shape[0], across, along // 2, 2))
    most = max(1, min(m, BETWEEN // (2 * half * dtype.bytes)))
    between = empty(source, (most, across // 2 + 1, along, 2), dtype)
    for first in range(0, m, most):
        now = min(most, m - first)
        launch(device.real_columns, (now, along // 2 // BESIDE), source, between, first, BESIDE, radices(across))
        launch(device.real_turned_rows, (now, blocks(across // 2 + 1, BESIDE)), between, target, first, scale, factor,
               BESIDE, radices(along))


def _numbers(function: str, name: str, x: Array, factor: float, scaled: bool, norm: str, out: Array | None) -> Array:
    """The real numbers of halves of spectra, whose points but for their ends count times `factor`."""
    check_choice(function, "norm", norm, SCALES)
    parts = x
    if is_complex(x):
        parts = parts_of(contiguous(x))
    else:
        check_float(function, **{name: x})
    if len(parts.shape) < 2 or parts.shape[-1] != 2:
        raise TileValueError(f"{function}: {name} has the shape {tuple(x.shape)}; it must hold complex numbers, or "
                             "floats with a last axis of real and imaginary parts")
    n = _check_length(function, name, 2 * (number(parts.shape[-2]) - 1))
    half, m = n // 2, count(parts.shape[:-2])
    result = output(function, out, parts, (*parts.shape[:-2], n))
    source, target = view(parts, (m, half + 1, 2)), view_of_output(function, result, (m, half, 2))
    scale, dtype = scale_of(n, scaled, norm), wide(dtype_of(parts))
    if _in_registers(half, dtype):
        rows = max(1, POINTS // half)
        launch(device.rows_of_spectra, (blocks(m, rows),), source, target, scale, factor, rows, radices(half))
        return result
    between = empty(parts, (m, half, 2), dtype)
    launch(device.pairs_of_spectra, (m, blocks(half, TILE)), source, between, factor, TILE)
    launch_transforms(between, target, True, scale)
    return result


def _check_length(function: str, name: str, n: int) -> int:
    if not 1 < n <= LONGEST or n & n - 1:
        raise TileValueError(f"{function}: {name} is of {n} real numbers; they must be a power of two, 2 to {LONGEST}",
                             hints=["pad with zeros to a power of two: a finer spectrum of the same signal"])
    return n


@library_function(reference=rfft_backward_reference)
def rfft_backward(grad: Array, norm: str = "backward") -> Array:
    """The gradient of `rfft`: real numbers (..., n) of the cotangent of a spectrum."""
    return _numbers("rfft_backward", "grad", grad, 0.5, False, norm, None)


def _rfft_gradient(grad: Any, norm: Any) -> Any:
    return rfft_backward(grad, norm)


@library_function(reference=rfft_reference, backward=_rfft_gradient)
def rfft(x: Array, norm: str = "backward", pairs: bool = False, *, out: Array | None = None) -> Array:
    """Discrete Fourier transforms of real numbers along the last axis, computed in float32 (float64 of float64).

    Arguments: `x`, floats (..., n), n a power of two, 2 to 65536.
    Options: `norm` as of `fft`: "backward" scales nothing, "ortho" divides by the square root of n, "forward" by n;
        `pairs` gives floats (..., n / 2 + 1, 2), real and imaginary parts, in the place of complex numbers; `out`, an
        array to write to, contiguous.
    Result: the points 0 to n / 2 of the spectrum, (..., n / 2 + 1), complex64 of float32 and complex128 of float64. The
        others are their conjugates.
    Errors: TileTypeError for another dtype, and for 16-bit floats without `pairs`; TileValueError for another length.

    Example:
        x = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], np.float32)
        print(rfft(x).real)  # [[1. 1. 1.]
        #                       [4. 0. 0.]]
        rfft(x[:, :3])  # TileValueError
    """
    return _spectrum("rfft", x, 1.0, False, norm, pairs, out)


@library_function(reference=irfft_backward_reference)
def irfft_backward(grad: Array, norm: str = "backward", pairs: bool = False) -> Array:
    """The gradient of `irfft`: complex numbers (..., n / 2 + 1), or with `pairs` their parts, of the cotangent of the
    real numbers."""
    return _spectrum("irfft_backward", grad, 2.0, True, norm, pairs, None)


def _irfft_gradient(grad: Any, x: Any, norm: Any) -> Any:
    return irfft_backward(grad, norm, not is_complex(x))


@library_function(reference=irfft_reference, backward=_irfft_gradient)
def irfft(x: Array, norm: str = "backward", *, out: Array | None = None) -> Array:
    """The real numbers whose spectrum `rfft` gives: inverse transforms along the last axis, computed in float32
    (float64 of float64).

    Arguments: `x`, the points 0 to n / 2, complex numbers (..., n / 2 + 1), or floats (..., n / 2 + 1, 2), real and
        imaginary parts; n is a power of two, 2 to 65536. Imaginary parts of the first and the last point count as 0.
    Options: `norm` as of `fft`: "backward" divides by n; `out`, an array to write to, contiguous.
    Result: floats (..., n), float32 of complex64 and float64 of complex128.
    Errors: TileTypeError for another dtype; TileValueError for another length.

    Example:
        print(irfft(rfft(np.array([1.0, 2.0, 3.0, 4.0]))))  # [1. 2. 3. 4.]
        irfft(np.ones(4, np.complex64))  # TileValueError
    """
    return _numbers("irfft", "x", x, 1.0, True, norm, out)
