"""Mangled names: a kernel's name and its signature as one symbol, and back.

NAME_K<convention>, then one _<parameter> each: S<dtype>, B0 B1 I<int> F<16 hex digits of the bits> for constants,
T<count><items>, L<groups>[i]<array>, A<ndim><dtype>. The promises about axes follow an array as _<mask><promises>:
the mask, in hexadecimal, has a bit per axis of which they hold, and they are s<extent> i<its divisor> t<stride>
v<its divisor> l<its least value>. Then _ and p<divisor of the address>, g<hex number> per alias group, i for
may_alias_internally, w for int64 indices. A minus sign is written _.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from tilewright.compilation.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
    with_groups,
)
from tilewright.compilation.convention import CallingConvention
from tilewright.tileir import dtypes
from tilewright.tileir.dtypes import DType

_CODES: dict[DType, str] = {
    dtypes.bool_: "b8",
    **{d: f"i{d.bitwidth}" for d in dtypes.ALL if d.kind == "int"},
    **{d: f"u{d.bitwidth}" for d in dtypes.ALL if d.kind == "uint"},
    dtypes.float16: "f16", dtypes.bfloat16: "bf16", dtypes.float32: "f32", dtypes.float64: "f64",
    dtypes.tfloat32: "tf32", dtypes.float8_e4m3fn: "f8m3fn", dtypes.float8_e5m2: "f8m2",
    dtypes.float8_e8m0fnu: "f8m0fnu", dtypes.float8_e5m3fnu: "f8m3fnu",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}

# Promises per axis: letter, field, the value that promises nothing. No letter is a hexadecimal digit.
_PROMISES: tuple[tuple[str, str, int | None], ...] = (
    ("s", "shape_constant", None), ("i", "shape_divisible_by", 1), ("t", "stride_constant", None),
    ("v", "stride_divisible_by", 1), ("l", "stride_lower_bound_incl", None),
)


def mangled(
    function_name: str, parameters: Sequence[ParameterConstraint], convention: CallingConvention
) -> str:
    """The symbol of a function for these parameters."""
    numbers: dict[str, int] = {}
    for _, groups in with_groups(parameters):
        for name in groups:
            numbers.setdefault(name, len(numbers))
    return "_".join([f"{function_name}_K{convention.code}", *(_mangle(parameter, numbers) for parameter in parameters)])


def demangled(symbol: str) -> tuple[str, list[ParameterConstraint], CallingConvention]:
    """The function's name, its parameters and the convention; ValueError, with the place, for another symbol."""
    start = symbol.rfind("_K")
    if start < 0:
        raise ValueError(f"{symbol!r} is no mangled kernel name: it has no _K")
    reader = _Reader(symbol, start + 2)
    convention = CallingConvention.from_code(reader.take("[^_]+", "a calling convention"))
    parameters: list[ParameterConstraint] = []
    while not reader.at_end:
        reader.take("_", "_")
        parameters.append(_parameter(reader))
    return symbol[:start], parameters, convention


# ---- from constraints to text ---------------------------------------------------------------------------------------


def _mangle(parameter: ParameterConstraint, numbers: dict[str, int]) -> str:
    if isinstance(parameter, ArrayConstraint):
        return "A" + _mangle_array(parameter, numbers)
    if isinstance(parameter, ListConstraint):
        may = "i" if parameter.elements_may_alias else ""
        return f"L{_mangle_groups(parameter.alias_groups, numbers)}{may}{_mangle(parameter.element, numbers)}"
    if isinstance(parameter, TupleConstraint):
        return f"T{len(parameter.items)}" + "".join(_mangle(item, numbers) for item in parameter.items)
    if isinstance(parameter, ScalarConstraint):
        return f"S{_CODES[parameter.dtype]}"
    value = parameter.value
    if isinstance(value, bool):
        return f"B{int(value)}"
    if isinstance(value, int):
        return f"I{_number(value)}"
    [bits] = struct.unpack("<Q", struct.pack("<d", value))
    return f"F{bits:016x}"


def _mangle_array(array: ArrayConstraint, numbers: dict[str, int]) -> str:
    masks: dict[str, int] = {}
    for letter, field, nothing in _PROMISES:
        for axis, value in enumerate(getattr(array, field)):
            if value != nothing:
                promise = f"{letter}{_number(value)}"
                masks[promise] = masks.get(promise, 0) | 1 << axis
    by_mask: dict[int, str] = {}
    for promise, mask in masks.items():
        by_mask[mask] = by_mask.get(mask, "") + promise
    out = f"{array.ndim}{_CODES[array.dtype]}" + "".join(f"_{mask:x}{by_mask[mask]}" for mask in sorted(by_mask))
    more = f"p{array.base_addr_divisible_by}" if array.base_addr_divisible_by != 1 else ""
    more += _mangle_groups(array.alias_groups, numbers)
    more += ("i" if array.may_alias_internally else "") + ("w" if array.index_dtype is dtypes.int64 else "")
    return f"{out}_{more}" if more else out


def _mangle_groups(groups: Sequence[str], numbers: dict[str, int]) -> str:
    return "".join(f"g{number:x}" for number in sorted(numbers[name] for name in groups))


def _number(value: int) -> str:
    return f"_{-value}" if value < 0 else str(value)


# ---- and back -------------------------------------------------------------------------------------------------------


class _Reader:
    """A symbol and a place in it."""

    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place

    @property
    def at_end(self) -> bool:
        return self.place == len(self.text)

    def maybe(self, pattern: str) -> str | None:
        """What matches here, read; None where nothing does."""
        found = re.compile(pattern).match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        return found[0]

    def take(self, pattern: str, what: str) -> str:
        found = self.maybe(pattern)
        if found is None:
            raise self.error(f"{what} is expected")
        return found

    def number(self) -> int:
        sign = -1 if self.maybe("_") else 1
        return sign * int(self.take("[0-9]+", "a number"))

    def error(self, what: str) -> ValueError:
        return ValueError(f"{self.text!r} is no mangled kernel name: at character {self.place}, near "
                          f"{self.text[self.place:self.place + 20]!r}, {what}")


def _parameter(reader: _Reader) -> ParameterConstraint:
    kind = reader.take("[A-Z]", "a parameter")
    if kind == "A":
        return _array(reader)
    if kind == "L":
        groups = _groups(reader)
        may = reader.maybe("i") is not None
        reader.take("A", "the array of a list")
        return ListConstraint(_array(reader), alias_groups=groups, elements_may_alias=may)
    if kind == "T":
        return TupleConstraint([_parameter(reader) for _ in range(int(reader.take("[0-9]+", "a count")))])
    if kind == "S":
        return ScalarConstraint(_dtype(reader))
    if kind == "B":
        return ConstantConstraint(reader.take("[01]", "0 or 1") == "1")
    if kind == "I":
        return ConstantConstraint(reader.number())
    if kind == "F":
        bits = int(reader.take("[0-9a-f]{16}", "sixteen hexadecimal digits"), 16)
        return ConstantConstraint(float(struct.unpack("<d", struct.pack("<Q", bits))[0]))
    raise reader.error(f"{kind} is no kind of parameter")


def _array(reader: _Reader) -> ArrayConstraint:
    rank = int(reader.take("[0-9]+", "a number of axes"))
    dtype = _dtype(reader)
    promises: dict[str, list[int | None]] = {field: [nothing] * rank for _, field, nothing in _PROMISES}
    while (text := reader.maybe("_[0-9a-f]+")) is not None:
        mask = int(text[1:], 16)
        if not 0 < mask < 1 << rank:
            raise reader.error(f"the mask {text[1:]} does not fit {rank} axes")
        for letter, field, _ in _PROMISES:
            if reader.maybe(letter):
                value = reader.number()
                for axis in range(rank):
                    if mask >> axis & 1:
                        promises[field][axis] = value
    divisor, groups, internally, wide = 1, [], False, False
    if reader.maybe("_(?=[pgiw])"):
        if reader.maybe("p"):
            divisor = reader.number()
        groups = _groups(reader)
        internally = reader.maybe("i") is not None
        wide = reader.maybe("w") is not None
    return ArrayConstraint(
        dtype, rank, index_dtype=dtypes.int64 if wide else dtypes.int32, alias_groups=groups,
        may_alias_internally=internally, base_addr_divisible_by=divisor,
        **promises)  # type: ignore[arg-type]


def _groups(reader: _Reader) -> list[str]:
    out: list[str] = []
    while reader.maybe("g"):
        out.append(f"group{int(reader.take('[0-9a-f]+', 'the number of an alias group'), 16)}")
    return out


def _dtype(reader: _Reader) -> DType:
    code = reader.take("[a-z]+[0-9]+(m[0-9](fnu|fn)?)?", "a dtype")
    if code not in _DTYPES:
        raise reader.error(f"{code} is no dtype")
    return _DTYPES[code]
