"""Values that a kernel is compiled for: what may be a constant, and when two constants are the same one."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from typing import Any

from tilewright.arguments.annotations import Param
from tilewright.arguments.words import hint, words
from tilewright.tileir.dtypes import int64, uint64

MAX_DEPTH = 64
_PLAIN = (str, bytes, types.FunctionType, types.BuiltinFunctionType, type, types.EllipsisType, types.NoneType)


def constant(name: str, value: Any, depth: int = 0) -> Any:
    """The value as the frontend takes it. TypeError or OverflowError for one that cannot be a constant.

    An np.float64 is a float, as it is in Python; other NumPy scalars keep their dtype.
    """
    if depth > MAX_DEPTH:
        raise TypeError(f"argument {name.split('[')[0]!r}: constants are nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, enum.Enum) or is_typed_number(value):
        return value
    if isinstance(value, int):
        if not int64.int_range[0] <= value <= uint64.int_range[1]:
            raise OverflowError(f"argument {name!r}: the constant {value} fits neither int64 nor uint64")
        return value if type(value) is bool else int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, tuple):
        items = [constant(f"{name}[{i}]", item, depth + 1) for i, item in enumerate(value)]
        return type(value)(*items) if is_namedtuple(value) else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _struct(name, value, depth)
    if isinstance(value, _PLAIN) or is_dtype(value) or hasattr(value, "__tilewright_builtin__"):
        return value
    raise TypeError(f"argument {name!r} is a Constant and must be a number, a str, a dtype, an enum member, a "
                    f"function, None, or a tuple or frozen dataclass of those, not {words(value)}{hint(value)}")


def _struct(name: str, value: Any, depth: int) -> Any:
    if not value.__dataclass_params__.frozen:
        raise TypeError(f"argument {name!r} is a {type(value).__name__}, a dataclass that is not frozen; write "
                        "@dataclass(frozen=True)")
    for field in dataclasses.fields(value):
        constant(f"{name}.{field.name}", getattr(value, field.name), depth + 1)
    return value


def choose(param: Param, name: str, value: Any) -> None:
    """ValueError unless the value is one of those that the parameter's Literal lists."""
    if param.choices is None or any(type(c) is type(value) and c == value for c in param.choices):
        return
    *others, last = map(repr, param.choices)
    wanted = f"{', '.join(others)} or {last}" if others else last
    raise ValueError(f"argument {name!r} must be {wanted}, as its annotation says, not {value!r}")


def constant_key(value: Any) -> Any:
    """Equal for constants that mean the same. 1, 1.0 and True are equal in Python, 0.0 and -0.0 too, and NaN is not
    equal to itself."""
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, tuple):
        return type(value), tuple(map(constant_key, value))
    if is_typed_number(value):
        return type(value), value.tobytes()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(constant_key(getattr(value, f.name)) for f in dataclasses.fields(value))
    return type(value), value


def is_typed_number(value: Any) -> bool:
    """A NumPy or ml_dtypes scalar that keeps its dtype; np.float64 is a Python float."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic) and not isinstance(value, (float, str, bytes))


def is_dtype(value: Any) -> bool:
    """A dtype of ours, NumPy, ml_dtypes or torch; their classes are types."""
    kind = type(value)
    return kind.__name__ in ("DType", "dtype") or kind.__name__.endswith("DType")


def is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_make") and hasattr(type(value), "_fields")
