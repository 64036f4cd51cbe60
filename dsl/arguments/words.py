"""What users passed, in their words, for the messages about arguments."""

from __future__ import annotations

import enum
from typing import Any

from tilewright.tileir.dtypes import DType


def words(value: Any) -> str:
    cls = type(value)
    if value is None:
        return "None"
    if isinstance(value, enum.Enum):
        return f"{cls.__name__}.{value.name}"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, DType):
        return f"the dtype {value}"
    if cls.__name__ == "function":
        return f"the function {value.__name__}"
    if cls.__name__ == "tile_kernel":
        return "a kernel"
    inside = "" if cls.__module__.startswith(("builtins", "tilewright.")) else f"{cls.__module__}."
    return f"an object of type {inside}{cls.__qualname__}"


def hint(value: Any) -> str:
    """What to write instead."""
    if isinstance(value, dict):
        return "; pass its values one by one, or a frozen dataclass as a Constant"
    if isinstance(value, list):
        return "; pass a tuple"
    return ""
