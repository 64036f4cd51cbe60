"""Calls of functions of other compilers: their parameters are those of the declaration."""

from __future__ import annotations

import inspect
from functools import partial

from tilewright.frontend.calls.binding import Signature
from tilewright.frontend.calls.registry import CallRule
from tilewright.frontend.promotion import broadcast, common_shape, implicit_cast, of_operand
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileError, TileTypeError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.foreign import ForeignFunction
from tilewright.tileir.ops.foreign import Foreign


def rule_of(function: ForeignFunction) -> CallRule:
    """The rule of its calls. Its arguments are called x1, x2, ..."""
    names = [f"x{number}" for number in range(1, len(function.operands) + 1)]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    return CallRule(function.name, partial(_call, function), Signature.of(parameters), function.label)


def _call(function: ForeignFunction, t: Translator, *args: Val) -> Val:
    given = [_operand(t, function.label, f"x{number}", arg, dtype)
             for number, (arg, dtype) in enumerate(zip(args, function.operands, strict=True), 1)]
    shape = common_shape(function.label, *given)
    tiles = tuple(broadcast(t, value, shape) for value in given)
    return t.emit(Foreign, args=tiles, name=function.name, dtype=function.result)


def _operand(t: Translator, label: str, name: str, arg: Val, dtype: DType) -> Value:
    """An argument of exactly the declared dtype; a constant becomes one."""
    if is_tile(arg) and arg.type.dtype is dtype:
        return arg  # type: ignore[no-any-return]
    try:
        if is_loose(arg):
            return implicit_cast(t, label, arg, dtype)
        raise TileTypeError(f"{label}: expected {dtype}, got {named(arg)}",
                            hints=[f"cast with ct.astype(x, ct.{dtype})"] if is_tile(arg) else [])
    except TileError as error:
        raise of_operand(name, error) from None
