"""Kernel values inside static_eval: constants as Python objects, run-time values by their type alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.frontend.calls.arith import BINARY, binary, power
from tilewright.frontend.calls.call import call_rule_by_name
from tilewright.frontend.calls.math import FLOAT_FUNCTIONS, invert, negate
from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    BoundMethod,
    Closure,
    Keywords,
    ListOf,
    Managed,
    Range,
    RawMemory,
    SliceSpec,
    Struct,
    Text,
    TiledView,
    Val,
    describe,
    is_array,
    is_loose,
    is_tile,
    like,
    named,
    strict_value,
)
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import KernelFunctionError, TileTypeError

_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_lshift",
    "rshift": "bitwise_rshift",
}
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}

_TILE_METHODS = ("reshape", "astype", "permute", "transpose", "extract", "insert", "item")
# Functions that stand-ins can be given to: they need types alone, and read and change nothing.
_COMPUTES = {
    *BINARY, *FLOAT_FUNCTIONS, "pow", "negative", "abs", "bitwise_not", "matmul", "where", "clamp", "reshape",
    "permute", "transpose", "broadcast_to", "expand_dims", "cat", "extract", "astype",
    *(f"Tile.{name}" for name in _TILE_METHODS), "Array.slice", "Array.tiled_view", "Array.get_raw_memory",
    "TiledView.num_tiles", "num_tiles", "sum", "max", "min", "prod", "any", "all", "argmax", "argmin", "take", "roll",
    "flip", "sort", "argsort", "join", "split", "interleave", "bitcast",
}


class Proxy:
    """A run-time value: its type can be asked, its value cannot."""

    __hash__ = object.__hash__

    def __init__(self, t: Translator, value: Val) -> None:
        self._t = t
        self._value = value

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no value while compiling")

    __int__ = __index__ = __float__ = __len__ = __bool__

    def __repr__(self) -> str:
        return f"<{describe(self._value)}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self!r} has no attribute {name} in static_eval")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} belongs to the kernel and cannot be called in static_eval")

    def __tilewright_call__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`ct.name(self, ...)`."""
        if name not in _COMPUTES:
            raise KernelFunctionError(f"{name} needs values", name)
        positional = [from_host(self._t, v, "an argument") for v in args]
        named = {k: from_host(self._t, v, "an argument") for k, v in kwargs.items()}
        return to_host(self._t, call_rule_by_name(self._t, name, positional, **named))

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} cannot be iterated")

    def __contains__(self, item: Any) -> bool:
        raise TypeError(f"{self!r} cannot be searched")

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(f"{self!r} cannot be indexed in static_eval")


class TileProxy(Proxy):
    """A tile or scalar: dtype, shape, ndim, operators, methods."""

    def __getattr__(self, name: str) -> Any:
        if name not in _TILE_METHODS:
            return super().__getattr__(name)
        return lambda *args, **kwargs: self.__tilewright_call__(f"Tile.{name}", (self, *args), kwargs)

    @property
    def dtype(self) -> Any:
        return self._value.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._value.type.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<tile[{self.dtype}, {self.shape}]>"

    def __pow__(self, other: Any) -> Any:
        return _wrap(self._t, power(self._t, self._value, from_host(self._t, other, "an operand")))

    def __rpow__(self, other: Any) -> Any:
        return _wrap(self._t, power(self._t, from_host(self._t, other, "an operand"), self._value))

    def __matmul__(self, other: Any) -> Any:
        return self.__tilewright_call__("matmul", (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return self.__tilewright_call__("matmul", (other, self), {})

    def __neg__(self) -> Any:
        return _wrap(self._t, negate(self._t, self._value))

    def __invert__(self) -> Any:
        return _wrap(self._t, invert(self._t, self._value))


def _operator(rule: str, swapped: bool) -> Callable[[TileProxy, Any], Any]:
    def apply(self: TileProxy, other: Any) -> Any:
        right = from_host(self._t, other, "an operand")
        x, y = (right, self._value) if swapped else (self._value, right)
        return _wrap(self._t, binary(self._t, rule, x, y))

    return apply


for _name, _rule in _OPERATORS.items():
    setattr(TileProxy, f"__{_name}__", _operator(_rule, False))
    setattr(TileProxy, f"__r{_name}__", _operator(_rule, True))
for _name, _rule in _COMPARISONS.items():
    setattr(TileProxy, f"__{_name}__", _operator(_rule, False))


class ArrayProxy(Proxy):
    """An array, a tiled view or raw memory: the members that a kernel reads, and methods that access no memory."""

    def __getattr__(self, name: str) -> Any:
        from tilewright.frontend.attributes import member

        try:
            found = member(self._t, self._value, name)
        except TileTypeError:
            return super().__getattr__(name)
        if isinstance(found, BoundMethod):
            return lambda *args, **kwargs: self.__tilewright_call__(found.function.name, (self, *args), kwargs)
        return to_host(self._t, found)

    def __repr__(self) -> str:
        array = is_array(self._value)
        return f"<array[{self.dtype}, {self.ndim}]>" if array else super().__repr__()


def _wrap(t: Translator, value: Val) -> Any:
    return TileProxy(t, value) if isinstance(value, Value) else value


def to_host(t: Translator, value: Val) -> Any:
    """A frontend value as a Python object."""
    if is_tile(value):
        constant = strict_value(value)
        return TileProxy(t, value) if constant is None else constant
    if is_array(value) or isinstance(value, (RawMemory, TiledView)):
        return ArrayProxy(t, value)
    if isinstance(value, Value):
        return Proxy(t, value)
    if isinstance(value, ListOf):
        return [to_host(t, v) for v in value]
    if isinstance(value, tuple):
        return like(value, (to_host(t, v) for v in value))
    if isinstance(value, (BoundMethod, Closure, Managed, Range, SliceSpec, Text)):
        return Proxy(t, value)
    if isinstance(value, Keywords):
        return {name: to_host(t, item) for name, item in value.items.items()}
    if isinstance(value, Struct):
        new: Any = object.__new__(value.type)
        for name, field in value.fields.items():
            object.__setattr__(new, name, to_host(t, field))
        return new
    return value


def from_host(t: Translator, value: Any, name: str) -> Val:
    """A Python object as a frontend value."""
    if isinstance(value, Proxy):
        return value._value
    if isinstance(value, tuple):
        return like(value, (from_host(t, v, name) for v in value))
    if is_loose(value):
        return frontend_value(t, value, name)
    if isinstance(value, list):
        return ListOf(from_host(t, v, name) for v in value)
    if isinstance(value, dict):
        return Keywords({key: from_host(t, v, name) for key, v in value.items()})
    if isinstance(value, set):
        raise TileTypeError(f"{name} is a {type(value).__name__}", hints=["make it a tuple"])
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        fields = {f: from_host(t, getattr(value, f), f"{name}.{f}") for f in value.__dataclass_fields__}
        return Struct(type(value), fields)
    try:
        return frontend_value(t, value, name)
    except TileTypeError:
        raise TileTypeError(f"{name} is {named(value)}, which a kernel cannot use") from None
