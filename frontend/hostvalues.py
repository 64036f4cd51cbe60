"""Python objects from outside the kernel as frontend values."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
from typing import Any

from tilewright.frontend.advice import on_object
from tilewright.frontend.promotion import convert
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import OUTSIDE, Keywords, ListOf, SliceSpec, Struct, Val, like
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import BY_NAME, DType
from tilewright.tileir.foreign import is_declared

_AS_THEY_ARE = (
    str, type(None), type(Ellipsis), enum.Enum, DType, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.MethodType, type, slice, functools.partial,
)
# Functions that are not written in Python: names may stand for them, calls are refused with advice.
NATIVE_FUNCTIONS = (
    "builtin_function_or_method", "ufunc", "wrapper_descriptor", "method_descriptor", "_ArrayFunctionDispatcher",
)
_FOREIGN_NAMES = {"bool": "bool_", "half": "float16", "float": "float32", "double": "float64"}


def frontend_value(t: Translator, value: Any, name: str, above: tuple[Any, ...] = ()) -> Val:
    """A captured object as a frontend value; TileTypeError for what kernels cannot use. `above`: what holds it."""
    if value is True or value is False:
        return value
    value = _behind(value)
    dtype = foreign_dtype(value)
    if dtype is not None:
        return dtype
    if isinstance(value, (int, float)) and not _is_typed_number(value):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            raise TileValueError(f"{name} is {value}, which does not fit in 64 bits")
        return value
    if _is_typed_number(value):
        strict = BY_NAME[_FOREIGN_NAMES.get(value.dtype.name, value.dtype.name)]
        return t.constant(convert(value.item(), strict), strict)
    if isinstance(value, tuple) or type(value) in (list, dict):
        return _container(t, value, name, above)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return struct_value(t, value, name, above)
    if isinstance(value, (*_AS_THEY_ARE, SliceSpec)) or hasattr(value, "__tilewright_builtin__"):
        return value
    if is_declared(value):
        return value
    if type(value).__name__ in NATIVE_FUNCTIONS:
        return value
    raise TileTypeError(f"{name} is {_kind(value)}, which a kernel cannot use", hints=on_object(value))


def _behind(value: Any) -> Any:
    """The function that `@ct.function` or functools.cache wraps: what is inlined asks for no cache."""
    if isinstance(value, functools._lru_cache_wrapper):
        return value.__wrapped__
    return getattr(value, "__tilewright_function__", value)


def _container(t: Translator, value: Any, name: str, above: tuple[Any, ...]) -> Val:
    """A tuple, list or dict. The host may change the latter two later, kernels may not."""
    if any(value is one for one in above):
        raise TileValueError(f"{name} holds itself")
    above = (*above, value)
    if isinstance(value, dict):
        items = {key: frontend_value(t, item, f"{name}[{key!r}]", above) for key, item in value.items()}
        return Keywords(items, frozenset((OUTSIDE,)))
    values = (frontend_value(t, item, name, above) for item in value)
    return ListOf(values, frozenset((OUTSIDE,))) if isinstance(value, list) else like(value, values)


def _kind(value: Any) -> str:
    """The kind of an object in the user's words."""
    kind = type(value)
    if kind.__name__ == "tile_kernel":
        return "a kernel"
    module = kind.__module__.strip("_").partition(".")[0]
    text = kind.__name__ if module == "builtins" else f"{module} {kind.__name__}"
    if module not in (*sys.stdlib_module_names, "numpy", "torch"):
        text = f"{kind.__name__} object"
    return f"an {text}" if text[:1].lower() in "aeio" else f"a {text}"


def struct_value(t: Translator, value: Any, name: str, above: tuple[Any, ...] = ()) -> Struct:
    """An instance of a frozen dataclass."""
    if not value.__dataclass_params__.frozen:
        raise TileTypeError(
            f"{name} is a {type(value).__name__}, a dataclass that is not frozen",
            hints=["write @dataclass(frozen=True)"],
        )
    fields = {f.name: frontend_value(t, getattr(value, f.name), f"{name}.{f.name}", above)
              for f in dataclasses.fields(value)}
    return Struct(type(value), fields)


def foreign_dtype(value: Any) -> DType | None:
    """The DType that a dtype object of NumPy, ml_dtypes or torch means; ours as it is."""
    if isinstance(value, DType):
        return value
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__.partition(".")[0]
    if module not in ("numpy", "ml_dtypes", "torch"):
        return None
    if isinstance(value, type):
        text = value.__name__
    elif kind.__name__ == "dtype" or kind.__name__.endswith("DType"):
        text = str(value).removeprefix("torch.")
    else:
        return None
    return BY_NAME.get(_FOREIGN_NAMES.get(text, text))


def _is_typed_number(value: Any) -> bool:
    """A NumPy, ml_dtypes scalar: its dtype is kept."""
    module = type(value).__module__.partition(".")[0]
    return module in ("numpy", "ml_dtypes") and hasattr(value, "item") and getattr(value, "shape", None) == ()
