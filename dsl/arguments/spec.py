"""Abstract arguments: what a kernel is compiled for when there is no array at hand, `spec("bf16[4096,4096]")`."""

from __future__ import annotations

import re

from tilewright.arguments.annotations import ArrayAnnotation
from tilewright.arguments.facts import ALIGN, MAX_FACT_RANK, array_type, extent_divisor
from tilewright.tileir.dtypes import BY_IR, BY_NAME, DType
from tilewright.tileir.records import record
from tilewright.tileir.types import ArrayType
from tilewright.tracebacks import public

_ALIASES = {"bool": "bool_", "tf32": "tfloat32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
_NUMBERS = r"\[([\d\s,?-]*)\]"
_TEXT = re.compile(rf"\s*(\w+)\s*(?:{_NUMBERS})?((?:\s+\w+\s*=\s*(?:{_NUMBERS}|\d+))*)\s*")
_OPTION = re.compile(rf"(\w+)\s*=\s*(?:{_NUMBERS}|(\d+))")


@record
class Spec:
    """An array of this dtype, extents and strides (elements; None: not known), or a scalar where `extents` is None.

    `align` is the base pointer's alignment in bytes. `strides` None means contiguous in C order.
    """

    dtype: DType
    extents: tuple[int | None, ...] | None = None
    strides: tuple[int | None, ...] | None = None
    align: int = 256

    @property
    def is_scalar(self) -> bool:
        return self.extents is None

    def array_type(self, annotation: ArrayAnnotation) -> ArrayType:
        """The type that an array of this description gets at a launch, as far as it is known."""
        assert self.extents is not None
        steps = self.strides if self.strides is not None else row_major_steps(self.extents)
        extents = [n for n in self.extents if n is not None]
        strides = [s for s in steps if s is not None]
        if len(extents) == len(self.extents) == len(strides):
            return array_type(self.dtype, tuple(extents), tuple(strides), self.align % ALIGN == 0, annotation)
        return self._partly_known(self.extents, steps, annotation)

    def _partly_known(
        self, extents: tuple[int | None, ...], strides: tuple[int | None, ...], annotation: ArrayAnnotation
    ) -> ArrayType:
        facts = len(extents) <= MAX_FACT_RANK
        static = annotation.axes(annotation.static_shape_dims, len(extents), "static_shape_dims")
        if any(extents[k] is None for k in static):
            raise ValueError("an axis in static_shape_dims needs a known extent: write a number in place of ?")
        static_strides = annotation.axes(annotation.static_stride_dims, len(extents), "static_stride_dims")
        if any(strides[k] is None for k in static_strides):
            raise ValueError("an axis in static_stride_dims needs a known stride: give strides=[...]")
        per_vector = ALIGN // self.dtype.bytes
        known = tuple(n if k in static or (facts and n == 1) else None for k, n in enumerate(extents))
        steps = tuple(s if k in static_strides or (facts and s == 1 and not static_strides) else None
                      for k, s in enumerate(strides))
        return ArrayType(
            self.dtype, known, steps,
            tuple(extent_divisor(n, self.dtype) if facts and n is not None and known[k] is None else 1
                  for k, n in enumerate(extents)),
            tuple(per_vector if facts and s is not None and s % per_vector == 0 and steps[k] is None else 1
                  for k, s in enumerate(strides)),
            align=ALIGN if facts and self.align % ALIGN == 0 else self.dtype.bytes,
            disjoint=facts and self.strides is None, index=annotation.index_dtype,
            declared=(tuple(static), tuple(static_strides)))

    def __str__(self) -> str:
        def numbers(values: tuple[int | None, ...]) -> str:
            return "[" + ",".join("?" if v is None else str(v) for v in values) + "]"

        out = self.dtype.ir
        if self.extents is not None:
            out += numbers(self.extents)
        if self.strides is not None:
            out += f" strides={numbers(self.strides)}"
        return out + (f" align={self.align}" if self.align != 256 else "")


@public
def spec(text: str) -> Spec:
    """An argument known by type alone, from text: what a kernel is compiled for when there is no array at hand.

    Arguments: `text`: a dtype ("i32", or its long name) makes a scalar; with extents ("f32[1024,?]"; ? is one that is
        not known, "f32[]" has no axes) an array. Options follow: "f32[64,64] strides=[1,64] align=4", strides in
        elements and the alignment of the first element in bytes; without them the array is contiguous in C order and
        well aligned.
    Result: a Spec, with `dtype`, `extents` (None for a scalar), `strides` and `align`; `str` gives the text back.
    Errors: ValueError for anything else.

    Example:
        a = ct.spec("bf16[4096,?] align=16")
        print(a.dtype, a.extents, a)  # bfloat16 (4096, None) bf16[4096,?] align=16
        ct.spec("f33[4]")  # ValueError
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no argument specification; write something like 'bf16[4096,4096]', "
                         "'f32[?,64] strides=[64,1] align=16', or 'i32' for a scalar")
    name = _ALIASES.get(found[1], found[1])
    dtype = BY_IR.get(name) or BY_NAME.get(name)
    if dtype is None:
        raise ValueError(f"{text!r}: there is no dtype {found[1]!r}; known are {', '.join(BY_IR)} and their long names")
    extents = _numbers(found[2]) if found[2] is not None else None
    strides: tuple[int | None, ...] | None = None
    align = 256
    for key, several, single in _OPTION.findall(found[3] or ""):
        if key == "strides":
            strides = _numbers(several)
        elif key == "align" and single:
            align = int(single)
        else:
            raise ValueError(f"{text!r}: unknown option {key!r}; there are strides=[...] and align=bytes")
    if extents is None and found[3]:
        raise ValueError(f"{text!r}: a scalar has neither strides nor alignment")
    if extents is not None and any(n is not None and n < 0 for n in extents):
        raise ValueError(f"{text!r}: an extent cannot be negative")
    if extents is not None and strides is not None and len(strides) != len(extents):
        raise ValueError(f"{text!r}: {len(extents)} extents, but {len(strides)} strides")
    if align < dtype.bytes or align & (align - 1):
        raise ValueError(f"{text!r}: align must be a power of two of at least {dtype.bytes}")
    return Spec(dtype, extents, strides, align)


def _numbers(text: str) -> tuple[int | None, ...]:
    words = [w.strip() for w in text.split(",")] if text.strip() else []
    return tuple(None if w == "?" else int(w) for w in words)


def row_major_steps(extents: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The strides of an array that is contiguous in C order, None where an extent that they depend on is not known."""
    out: list[int | None] = []
    step: int | None = 1
    for extent in reversed(extents):
        out.append(step)
        step = step * max(extent, 1) if step is not None and extent is not None else None
    return tuple(reversed(out))
