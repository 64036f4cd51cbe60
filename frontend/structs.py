"""Constructing frozen dataclasses and named tuples, and looking up enum members."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.frontend.calls.binding import Signature
from tilewright.frontend.calls.call import SYNTHETIC, call_value
from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Struct, Val, describe, known
from tilewright.tileir.diagnostics import TileTypeError, TileValueError


def construct(t: Translator, kind: type, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Struct:
    """`Point(x, y)`."""
    fields = _fields(kind)
    positional = tuple(f.name for f in fields if not f.kw_only)
    keywords = tuple(f.name for f in fields if f.kw_only)
    defaults = {
        f.name: frontend_value(t, f.default, f"{kind.__name__}.{f.name}")
        for f in fields if f.default is not dataclasses.MISSING
    }
    bound = Signature((), positional, keywords, None, None, defaults).bind(kind.__name__, args, kwargs)
    result = Struct(kind, {f.name: bound[f.name] for f in fields})
    after = getattr(kind, "__post_init__", None)
    if isinstance(after, types.FunctionType):
        call_value(t, after, [result], {})
    return result


def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a dataclass that kernels can construct."""
    problem, advice = "", "write @dataclass(frozen=True)"
    if not kind.__dataclass_params__.frozen:
        problem = "is not frozen"
    elif "__dataclass_fields__" not in vars(kind):
        problem, advice = "is a subclass of a dataclass, but not one itself", "decorate it, too"
    elif kind.__new__ is not object.__new__:
        problem, advice = "has its own __new__", "write a function that returns the object"
    for f in dataclasses.fields(kind):
        if f.default_factory is not dataclasses.MISSING:
            problem, advice = f"has a default_factory (field {f.name})", "give the field a default that is a constant"
        elif not f.init:
            problem, advice = f"has a field without init ({f.name})", "make it a property"
    if problem:
        raise TileTypeError(f"{kind.__name__} {problem}, so a kernel cannot construct it",
                            hints=[advice])
    return dataclasses.fields(kind)


def named_tuple(t: Translator, kind: Any, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    """`Pair(x, y)`, where Pair is a named tuple."""
    defaults = {n: frontend_value(t, value, f"{kind.__name__}.{n}") for n, value in kind._field_defaults.items()}
    return kind(**Signature((), kind._fields, (), None, None, defaults).bind(kind.__name__, args, kwargs))


def enum_member(t: Translator, kind: Any, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    """`Color(1)`."""
    if len(args) != 1 or kwargs:
        raise TileTypeError(f"{kind.__name__}: takes one constant, got {len(args) + len(kwargs)}",
                            hints=[f"write {kind.__name__}(value) or {kind.__name__}.{next(iter(kind)).name}"])
    value = known(args[0])
    value = args[0] if value is None else value
    try:
        return kind(value)
    except (ValueError, TypeError):
        shown = describe(args[0]) if known(args[0]) is None and not isinstance(value, str) else repr(value)
        raise TileValueError(f"{kind.__name__} has no member with the value {shown}",
                             hints=[f"it has {', '.join(repr(m.value) for m in kind)}"]) from None


SYNTHETIC["dataclass"] = construct
SYNTHETIC["enum"] = enum_member
SYNTHETIC["named tuple"] = named_tuple
