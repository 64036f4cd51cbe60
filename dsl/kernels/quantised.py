"""Weights in int8, int4 or fp8 with a scale for each group of inputs, and the linear layer that reads them."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, empty, output, rows_of, view_of_output
from tilewright.kernels.checks import check_choice, check_float, check_rank, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import quantised as device
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType, float8_e4m3fn, float16, int8, uint8

# What a code is stored in, and the largest number that it stands for.
KINDS: dict[str, tuple[DType, float]] = {"int8": (int8, 127.0), "int4": (uint8, 7.0), "fp8": (float8_e4m3fn, 448.0)}


def _decode(codes: Any, kind: str) -> Any:
    import numpy as np

    if kind != "int4":
        return codes.astype(np.float64)
    return np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1).astype(np.float64) - 8


def dequantise_reference(codes: Any, scales: Any, kind: str) -> Any:
    """The codes times their scales in float64."""
    import numpy as np

    numbers = _decode(codes, kind)
    return numbers * np.repeat(scales.astype(np.float64), numbers.shape[1] // max(1, scales.shape[1]), axis=1)


def quantise_reference(x: Any, kind: str, group: int = 64) -> Any:
    """Codes, and scales in float16."""
    import numpy as np

    from tilewright.arguments.arrays import numpy_dtype

    largest = KINDS[kind][1]
    t = x.astype(np.float64 if x.dtype == np.float64 else np.float32).reshape(len(x), -1, group)
    scales = (np.abs(t).max(axis=2) / t.dtype.type(largest)).astype(np.float16)
    wide = scales.astype(t.dtype)
    level = t * np.where(wide == 0, 0, 1 / np.where(wide == 0, 1, wide))[:, :, None]
    level = np.clip(level, -largest, largest).reshape(x.shape)
    if kind == "fp8":
        return level.astype(numpy_dtype(float8_e4m3fn)), scales
    whole = np.round(level).astype(np.int8)
    if kind == "int8":
        return whole, scales
    halves = (whole + 8).astype(np.uint8).reshape(len(x), -1, 2)
    return halves[:, :, 0] | halves[:, :, 1] << 4, scales


def quantised_linear_reference(x: Any, codes: Any, scales: Any, kind: str, bias: Any = None) -> Any:
    """The layer in float64."""
    import numpy as np

    out = x.astype(np.float64) @ dequantise_reference(codes, scales, kind).T
    return out if bias is None else out + bias.astype(np.float64)


def _check_codes(function: str, codes: Array, scales: Array, kind: str) -> int:
    """The length of a group."""
    check_choice(function, "kind", kind, tuple(KINDS))
    check_rank(function, "codes", codes, 2)
    check_rank(function, "scales", scales, 2)
    check_float(function, scales=scales)
    if dtype_of(codes) is not KINDS[kind][0]:
        raise TileTypeError(f"{function}: codes has the dtype {dtype_of(codes)}; {kind} is stored as {KINDS[kind][0]}")
    columns = codes.shape[1] * (2 if kind == "int4" else 1)
    groups = scales.shape[1]
    check_shape(function, "scales", scales, (codes.shape[0], groups), "a row for each row of codes")
    if groups == 0 or columns % groups:
        raise TileValueError(f"{function}: {groups} scales do not share the {columns} columns of codes evenly")
    _check_group(function, columns // groups)
    return int(columns // groups)


def _check_group(function: str, group: int) -> None:
    if not 16 <= group <= 256 or power_above(group) != group:
        raise TileValueError(f"{function}: a group has {group} inputs; it must be a power of two from 16 to 256")


@library_function(reference=quantise_reference)
def quantise(x: Array, kind: str, group: int = 64) -> tuple[Array, Array]:
    """Weights in fewer bits, rounded to nearest: each group's largest element becomes the largest code.

    Arguments: `x`, floats (n, k); `kind`, "int8", "int4" or "fp8" (e4m3); `group`, the number of neighbouring columns
        that share a scale, a power of two from 16 to 256 that divides k.
    Result: codes, (n, k) in int8 or float8_e4m3fn, of int4 (n, k / 2) in uint8 (the first of two in the lower half, 8
        stands for zero); and scales, (n, k / group) in float16.
    Errors: TileTypeError for another dtype, TileValueError for an unknown kind and for a group that does not divide k.
    """
    check_float("quantise", x=x)
    check_rank("quantise", "x", x, 2)
    check_choice("quantise", "kind", kind, tuple(KINDS))
    _check_group("quantise", group)
    n, k = x.shape
    if k % group:
        raise TileValueError(f"quantise: x has {k} columns, which groups of {group} do not share evenly")
    dtype, largest = KINDS[kind]
    codes, scales = empty(x, (n, k // 2 if kind == "int4" else k), dtype), empty(x, (n, k // group), float16)
    rows = max(1, 1024 // group)
    launch(device.quantise_groups, (blocks(n, rows), k // group), x, codes, scales, largest, kind, rows, group)
    return codes, scales


@library_function(reference=dequantise_reference)
def dequantise(codes: Array, scales: Array, kind: str) -> Array:
    """The codes of `quantise` times their scales, (n, k) in the dtype of the scales."""
    group = _check_codes("dequantise", codes, scales, kind)
    n = codes.shape[0]
    out, rows = empty(scales, (n, scales.shape[1] * group)), max(1, 1024 // group)
    launch(device.dequantise_groups, (blocks(n, rows), scales.shape[1]), codes, scales, out, kind, rows, group)
    return out


@library_function(reference=quantised_linear_reference)
def quantised_linear(
    x: Array, codes: Array, scales: Array, kind: str, bias: Array | None = None, *, out: Array | None = None
) -> Array:
    """x @ dequantise(codes, scales).T + bias: the weights are read in their few bits, and widened in registers.

    Arguments: `x`, floats (..., k); `codes` and `scales`, of n outputs, as `quantise` makes them; `bias`, (n,), if any.
    Options: `out`, an array to write to, contiguous.
    Result: an array (..., n) of the dtype of `x`.
    Errors: TileTypeError for other dtypes, TileValueError for shapes that do not fit.
    """
    name = "quantised_linear"
    group = _check_codes(name, codes, scales, kind)
    check_float(name, x=x, bias=bias)
    n, k = codes.shape[0], scales.shape[1] * group
    if len(x.shape) == 0 or x.shape[-1] != k:
        raise TileValueError(f"{name}: x has the shape {tuple(x.shape)}; its last axis must have the {k} inputs of "
                             "codes")
    check_shape(name, "bias", bias, (n,), "one for each row of codes")
    result = output(name, out, x, (*x.shape[:-1], n))
    m = count(x.shape[:-1])
    tm, tn = min(128, max(16, power_above(m))), min(64, max(16, power_above(n)))
    launch(device.multiply_quantised, (blocks(m, tm), blocks(n, tn)), rows_of(x), codes, scales, bias,
           view_of_output(name, result, (m, n)), kind, tm, tn, group)
    return result
