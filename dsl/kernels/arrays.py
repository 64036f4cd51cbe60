"""Arrays of any library: their dtypes and views, and outputs that are allocated in the library of an input."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Sequence
from typing import Annotated, Any

from tilewright.arguments.arrays import HOST, describe, is_jax, is_torch, named_dtype, numpy_dtype, torch_dtype
from tilewright.arguments.device_array import DeviceArray
from tilewright.arguments.dlpack import row_major
from tilewright.kernels.plans import noted
from tilewright.streams.arrays import full as filled
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType

# An array of NumPy, torch, CuPy, or a DeviceArray. The mark tells operators of torch which parameters are tensors.
Array = Annotated[Any, "array"]


def dtype_of(x: Array) -> DType:
    """The element type of an array, also of a tensor without memory."""
    if not hasattr(x, "dtype"):
        raise TileTypeError(f"the library takes arrays, not a {type(x).__name__}", hints=["numpy.asarray makes one"])
    if isinstance(x.dtype, DType):
        return x.dtype
    return torch_dtype(x.dtype) if is_torch(type(x)) else named_dtype(str(x.dtype))


def is_tensor(x: object) -> bool:
    """Whether this is a tensor of torch."""
    return "torch" in sys.modules and is_torch(type(x))


def empty(like: Array, shape: Sequence[int], dtype: DType | None = None) -> Array:
    """An array without defined contents, in the library and on the device of `like`. TypeError for a library whose
    arrays cannot be written."""
    return _allocated("empty", like, tuple(shape), dtype or dtype_of(like))


def zeros(like: Array, shape: Sequence[int], dtype: DType | None = None) -> Array:
    """An array of zeros, in the library and on the device of `like`."""
    return _allocated("zeros", like, tuple(shape), dtype or dtype_of(like))


def alike(x: Array) -> Array:
    """An array like `x` without defined contents, its axes in the same order in memory, so that views of `x` that swap
    axes back are views of the result, too; in the order of the shape where the last axis of `x` is not the fastest, and
    for a library that has no `empty_like`."""
    if is_tensor(x):
        if x.stride(-1) == 1:
            return noted(sys.modules["torch"].empty_like, x)
    elif not isinstance(x, DeviceArray):
        make = getattr(sys.modules.get(type(x).__module__.partition(".")[0]), "empty_like", None)
        if make is not None and x.strides[-1] == x.itemsize:
            return make(x)
    return empty(x, x.shape)


def _allocated(how: str, like: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    if is_tensor(like):
        torch = sys.modules["torch"]
        made = getattr(torch, dtype.name.rstrip("_"))
        return noted(functools.partial(getattr(torch, how), shape, dtype=made, device=like.device))
    if isinstance(like, DeviceArray):
        if how == "empty":
            return DeviceArray(shape, row_major(shape), dtype, like.device)
        return filled(shape, 0, dtype, device=like.device)
    if is_jax(type(like)):
        raise TileTypeError("arrays of JAX never change, so the library cannot fill one",
                            hints=["inside JAX, launch the library's kernel by tw.jax.call"])
    module = sys.modules.get(type(like).__module__.partition(".")[0])
    if module is None or not hasattr(module, how):
        raise TileTypeError(f"the library does not know how to allocate an array beside one of {type(like).__name__}",
                            hints=["give the output as out="])
    return getattr(module, how)(shape, dtype=numpy_dtype(dtype))


def output(name: str, out: Array | None, like: Array, shape: Sequence[int], dtype: DType | None = None) -> Array:
    """The output of a function of the library: `out` when it fits, else a new array."""
    dtype = dtype or dtype_of(like)
    if out is None:
        return empty(like, shape, dtype)
    if tuple(out.shape) != tuple(shape):
        raise TileValueError(f"{name}: out has the shape {tuple(out.shape)}; the result has {tuple(shape)}")
    if dtype_of(out) is not dtype:
        raise TileTypeError(f"{name}: out has the dtype {dtype_of(out)}; the result has {dtype}")
    return out


def view(x: Array, shape: Sequence[int]) -> Array:
    """The array with another shape; a copy where its strides allow no view."""
    return x if tuple(x.shape) == tuple(shape) else _reshaped(x, tuple(shape))


def _reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    return noted(sys.modules["torch"].Tensor.reshape, x, shape) if is_tensor(x) else x.reshape(shape)


def transposed(x: Array) -> Array:
    """The view of a matrix, or of matrices, with rows and columns exchanged."""
    return noted(sys.modules["torch"].Tensor.transpose, x, -2, -1) if is_tensor(x) else x.T


def view_of_output(name: str, out: Array, shape: Sequence[int]) -> Array:
    """An output with another shape, which must be a view. TileValueError where its strides allow none."""
    if tuple(out.shape) == tuple(shape):
        return out
    if is_tensor(out):
        if not out.is_contiguous():
            raise _no_view(name, out)
        return _reshaped(out, tuple(shape))
    info = describe(out)
    if info is None or (info.strides != row_major(info.shape) and 0 not in info.shape):
        raise _no_view(name, out)
    return out.reshape(tuple(shape))


def _no_view(name: str, out: Array) -> TileValueError:
    return TileValueError(f"{name}: out, of shape {tuple(out.shape)}, must be contiguous, its last axis fastest")


def rows_of(x: Array) -> Array:
    """An array of any rank as rows: all axes but the last are one."""
    return view(x, (count(x.shape[:-1]), x.shape[-1]))


def count(extents: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return math.prod(extents)


def on_host(x: Array) -> bool:
    """Whether the interpreter runs kernels on this array."""
    if is_tensor(x):
        return str(x.device.type) == "cpu"
    info = describe(x)
    return info is None or info.device == HOST
