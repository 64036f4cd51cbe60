"""From an array's numbers to the facts that a kernel is specialised on, as an ArrayType."""

from __future__ import annotations

from functools import lru_cache

from tilewright.arguments.annotations import ArrayAnnotation
from tilewright.tileir.dtypes import DType, int32
from tilewright.tileir.types import ArrayType

ALIGN = 16  # bytes: the widest access of one thread
MULTIPLE = 16  # elements: the divisor looked for first in extents
MAX_FACT_RANK = 5
_SMALL = 1 << 31


@lru_cache(maxsize=4096)
def array_type(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], aligned: bool, annotation: ArrayAnnotation
) -> ArrayType:
    """The type of an array with these extents and strides (in elements); `aligned`: its base is at 16 bytes.

    Raises OverflowError for an extent or stride that does not fit int32 where the kernel indexes with int32, and
    ValueError for a static axis that the array does not have.
    """
    check_index_range(shape, strides, annotation)
    rank = len(shape)
    static_shape = annotation.axes(annotation.static_shape_dims, rank, "static_shape_dims")
    static_strides = annotation.axes(annotation.static_stride_dims, rank, "static_stride_dims")
    extents: list[int | None] = [None] * rank
    steps: list[int | None] = [None] * rank
    extent_div, stride_div = [1] * rank, [1] * rank
    if rank <= MAX_FACT_RANK:
        per_vector = ALIGN // dtype.bytes
        for k in range(rank):
            if shape[k] == 1:
                extents[k] = 1
            else:
                extent_div[k] = extent_divisor(shape[k], dtype)
            if strides[k] == 1 and not static_strides:
                steps[k] = 1
            elif strides[k] % per_vector == 0:
                stride_div[k] = per_vector
    for k in static_shape:
        extents[k], extent_div[k] = shape[k], 1
    for k in static_strides:
        steps[k], stride_div[k] = strides[k], 1
    facts = rank <= MAX_FACT_RANK
    return ArrayType(
        dtype, tuple(extents), tuple(steps), tuple(extent_div), tuple(stride_div),
        align=ALIGN if aligned and facts else dtype.bytes,
        disjoint=facts and is_disjoint(shape, strides), small=facts and is_small(dtype, shape, strides),
        index=annotation.index_dtype, declared=(tuple(static_shape), tuple(static_strides)))


def extent_divisor(extent: int, dtype: DType) -> int:
    """What is known to divide an extent: MULTIPLE elements, else those of one access of ALIGN bytes, or 1."""
    return next((d for d in (MULTIPLE, ALIGN // dtype.bytes) if extent % d == 0), 1)


@lru_cache(maxsize=4096)
def plain_array_type(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], annotation: ArrayAnnotation
) -> ArrayType:
    """The type with nothing known but what the kernel's annotation asks for: all that the interpreter needs."""
    check_index_range(shape, strides, annotation)
    rank = len(shape)
    extents: list[int | None] = [None] * rank
    steps: list[int | None] = [None] * rank
    static_shape = tuple(annotation.axes(annotation.static_shape_dims, rank, "static_shape_dims"))
    static_strides = tuple(annotation.axes(annotation.static_stride_dims, rank, "static_stride_dims"))
    for k in static_shape:
        extents[k] = shape[k]
    for k in static_strides:
        steps[k] = strides[k]
    return ArrayType(
        dtype, tuple(extents), tuple(steps), index=annotation.index_dtype, declared=(static_shape, static_strides))


def check_index_range(shape: tuple[int, ...], strides: tuple[int, ...], annotation: ArrayAnnotation) -> None:
    if annotation.index_dtype is not int32:
        return
    low, high = int32.int_range
    for what, values in (("extent", shape), ("stride", strides)):
        for axis, value in enumerate(values):
            if not low <= value <= high:
                raise OverflowError(f"{what} {value} of axis {axis} does not fit int32; annotate the parameter "
                                    "with IndexedWithInt64")


def is_disjoint(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two indices name the same element, shown by strides that each step over all smaller axes."""
    reach = 1
    for stride, extent in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride < reach:
            return 0 in shape
        reach = stride * extent
    return True


def is_small(dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether every byte offset from the base fits in 31 bits; in 30 where some lie before it, as addresses of lanes
    beside a vector's or outside of the array may lie 2**30 bytes further on (`tileir/analysis/lane_steps.py`)."""
    reach = [(max(n, 1) - 1) * abs(s) for n, s in zip(shape, strides, strict=True)]
    return (sum(reach) + 1) * dtype.bytes < (_SMALL >> 1 if min(strides, default=0) < 0 else _SMALL)
