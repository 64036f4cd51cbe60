"""Constant options of calls: flags, rounding modes, enums, integers, shapes, axes."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tilewright.frontend.values import Val, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import Subject, TileError, TileTypeError, TileValueError
from tilewright.tileir.dtypes import BY_NAME, DType, bfloat16, float16, float32, float64
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.types import TileType

E = TypeVar("E", bound=enum.Enum)
T = TypeVar("T")

_IEEE = (RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP)
ROUNDING: dict[str, tuple[RoundingMode, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "sum", "prod", "cumsum", "cumprod"), _IEEE),
    "truediv": (*_IEEE, RoundingMode.FULL, RoundingMode.APPROX),
    "sqrt": (*_IEEE, RoundingMode.APPROX),
    "exp": (RoundingMode.FULL, RoundingMode.APPROX),
    "tanh": (RoundingMode.FULL, RoundingMode.APPROX),
}


def bad(op: str, argument: str, message: str, kind: type[TileError] = TileTypeError, **more: Any) -> TileError:
    """An error about one argument of a call; the call underlines that argument."""
    return kind(f'{op}: argument "{argument}" {message}', subject=Subject(argument), **more)


@contextlib.contextmanager
def about(argument: str) -> Iterator[None]:
    """Errors that name no argument are about this one."""
    try:
        yield
    except TileError as error:
        error.subject.argument = error.subject.argument or argument
        raise


def each(function: Callable[[Val], T], values: Iterable[Val]) -> list[T]:
    """`function` of every entry of an argument; an error about one underlines that entry."""
    out = []
    for k, value in enumerate(values):
        try:
            out.append(function(value))
        except TileError as error:
            error.subject.item = k
            raise
    return out


def flag(op: str, argument: str, value: Val) -> bool:
    """A constant bool."""
    if isinstance(value, bool):
        return value
    hints = []
    if isinstance(value, Value):
        hints = ["options are constants: make it a parameter annotated with ct.Constant[bool]"]
    raise bad(op, argument, f"must be True or False, got {named(value)}", hints=hints)


def member(op: str, argument: str, value: Val, kind: type[E]) -> E:
    """A constant member of an enum."""
    if isinstance(value, kind):
        return value
    raise bad(op, argument, f"must be a member of {kind.__name__}, got {named(value)}",
              hints=[f"write ct.{kind.__name__}.{_member_hint(value, kind)}"])


def _member_hint(value: Val, kind: type[E]) -> str:
    """The member whose name or value was given as a string, else the first."""
    text = value.lower() if isinstance(value, str) else ""
    return next((m.name for m in kind if text in (m.name.lower(), m.value)), next(iter(kind)).name)


def integer(op: str, argument: str, value: Val) -> int:
    """A constant integer."""
    constant = known(value)
    if isinstance(constant, int) and not isinstance(constant, bool):
        return int(constant)
    if isinstance(value, Value):
        raise bad(
            op, argument, f"must be known while compiling, got {named(value)}",
            hints=["make it a parameter annotated with ct.Constant[int]"],
        )
    hints = ["write // for a whole number"] if isinstance(constant, float) and constant.is_integer() else []
    raise bad(op, argument, f"must be a constant integer, got {named(value)}", hints=hints)


def integer_hints(value: Val) -> list[str]:
    """What to do about a value that should be a signed integer scalar."""
    if isinstance(value, float) or (isinstance(value, Value) and isinstance(value.op, Div)):
        return ["write // for a whole number"]
    scalar = isinstance(value, Value) and isinstance(value.type, TileType) and not value.type.shape
    return ["cast it: ct.int32(i)"] if scalar or isinstance(value, bool) else []


def axis_of(op: str, argument: str, value: Val, rank: int) -> int:
    """A constant axis of a tile or array of `rank` axes, negative counting from the end."""
    axis = integer(op, argument, value)
    if not -rank <= axis < rank:
        if not rank:
            raise bad(op, argument, f"is {axis}, but a scalar has no axes")
        have = f"{rank} axis" if rank == 1 else f"{rank} axes"
        raise bad(op, argument, f"is {axis}, but there {'is' if rank == 1 else 'are'} {have}",
                  hints=[f"count from 0 to {rank - 1}, or from -{rank} to -1" if rank > 1 else "write 0"])
    return axis % rank


def tile_shape(op: str, argument: str, value: Val, *, allow_int: bool = True) -> tuple[int, ...]:
    """A constant shape of powers of two."""
    if not isinstance(value, tuple):
        if not allow_int:
            raise bad(op, argument, f"must be a tuple of constant integers, got {named(value)}",
                      hints=["write (n,) for one axis"])
        value = (value,)
    return tuple(each(lambda d: _length(op, argument, d), value))


_OF_ARRAYS = ("load", "num_tiles", "tiled_view", "Slice")
"""Functions whose lengths are those of tiles in arrays."""


def _length(op: str, argument: str, value: Val) -> int:
    n = integer(op, argument, value)
    if n < 1 or n & (n - 1):
        hints = ["the least is 1"]
        if n > 0:
            rest = ("let the padding fill what is outside the array" if op in _OF_ARRAYS
                    else "leave the others out: ct.where, or the mask of an access")
            hints = [f"take {1 << n.bit_length()} and {rest}"]
        raise bad(op, argument, f"has a length of {n}; the lengths of a tile are powers of two", hints=hints)
    return n


def dtype_arg(op: str, argument: str, value: Val) -> DType:
    """A dtype."""
    if isinstance(value, DType):
        return value
    hints = []
    if value in (int, float, bool):
        hints = [f"write ct.{ {int: 'int32', float: 'float32', bool: 'bool_'}[value]}"]
    elif isinstance(value, str) and value in BY_NAME:
        hints = [f"write ct.{BY_NAME[value]}"]
    raise bad(op, argument, f"must be a dtype such as ct.float32, got {named(value)}", hints=hints)


def latency_hint(op: str, value: Val) -> int | None:
    """The `latency` option: None or 1..10."""
    if value is None:
        return None
    n = integer(op, "latency", value)
    if not 1 <= n <= 10:
        raise bad(op, "latency", f"is {n}, expected 1 to 10", TileValueError,
                  hints=["leave it out: it is a hint"])
    return n


def tma_hint(op: str, value: Val) -> bool | None:
    """The `allow_tma` option: None or a bool."""
    return None if value is None else flag(op, "allow_tma", value)


def check_rounding(what: str, name: str, dtype: DType, options: Mapping[str, Any]) -> None:
    """Refuse a rounding mode or flush_to_zero that this function or dtype does not have."""
    mode = options.get("rounding")
    if mode is not None:
        mode = member(what, "rounding_mode", mode, RoundingMode)
        if mode not in ROUNDING[name]:
            allowed = ", ".join(m.name for m in ROUNDING[name])
            raise bad(what, "rounding_mode", f"is {mode.name}, expected one of {allowed}")
        if dtype not in (float16, bfloat16, float32, float64):
            raise bad(what, "rounding_mode", f"is given, but the operands are {dtype}",
                      hints=["leave it out: only floats are rounded"])
        if mode in (RoundingMode.FULL, RoundingMode.APPROX) and dtype is not float32:
            raise bad(what, "rounding_mode", f"is {mode.name}, which exists for float32 only, not {dtype}",
                      hints=["leave it out, or cast with ct.astype(x, ct.float32)"])
    if options.get("ftz") and dtype is not float32:
        raise bad(what, "flush_to_zero", f"is True, which is possible for float32 only, not {dtype}",
                  hints=["leave it out, or cast with ct.astype(x, ct.float32)"])
