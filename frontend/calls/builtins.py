"""Python's own functions: range, len, enumerate, zip, sum, min, max, int, float, tuple, str, getattr, ..."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Mapping

from tilewright.frontend import folding
from tilewright.frontend.attributes import member
from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.math import unary
from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import BY_VALUE, call_rule
from tilewright.frontend.promotion import cast
from tilewright.frontend.subscripts import item
from tilewright.frontend.texts import joined, shown
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    Keywords,
    ListOf,
    Live,
    Range,
    Struct,
    Val,
    is_array,
    is_list,
    is_loose,
    is_tile,
    known,
    listed,
    live,
    named,
)
from tilewright.tileir import dtypes as d
from tilewright.tileir.diagnostics import Subject, TileStaticAssertionError, TileTypeError, TileValueError
from tilewright.tileir.ops.arrays import ListLength

_NO_VALUE = object()


@call_rule("range", range)
def range_(t: Translator, *bounds: Val) -> Val:
    if not 1 <= len(bounds) <= 3:
        raise TileTypeError(f"range: takes 1 to 3 arguments, got {len(bounds)}",
                            hints=["call range(stop), range(start, stop) or range(start, stop, step)"])
    for number, v in enumerate(bounds):
        ok = is_loose(v) and isinstance(v, int) and not isinstance(v, bool)
        if not ok and not (is_tile(v) and not v.type.shape and v.type.dtype.is_signed):
            raise _bound_error(number, f"expected signed integer scalars, got {named(v)}", _range_hints(v))
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    constant = known(step)
    if constant == 0:
        raise _bound_error(2, "the step is 0, so it never ends", ["write 1 to count up, -1 to count down"])
    return Range(start, stop, step)


def _bound_error(number: int, message: str, hints: list[str]) -> TileTypeError:
    """An error about one of range's arguments; the call underlines it."""
    return TileTypeError(f"range: {message}", hints=hints, subject=Subject("bounds", number))


def _range_hints(value: Val) -> list[str]:
    if isinstance(value, float):
        return ["write // for a whole number of iterations, or ct.cdiv to round up"]
    if is_array(value):
        return ["write range(ct.num_tiles(a, axis, shape)), or range(a.shape[axis])"]
    if is_tile(value) and value.type.shape:
        return ["take the single element with .item()"] if value.type.size == 1 else []
    return ["cast it: ct.astype(x, ct.int32)"] if is_tile(value) else []


@call_rule("len", len)
def len_(t: Translator, x: Val, /) -> Val:
    if isinstance(x, (tuple, str)):
        return len(x)
    if isinstance(x, Keywords):
        return len(x.items)
    if isinstance(x, Range) and x.numbers is not None:
        return len(x.numbers)
    if is_list(x):
        return t.emit(ListLength, list=x)
    hints = ["write x.shape[axis]"] if is_tile(x) or is_array(x) else []
    raise bad("len", "x", f"must be a tuple, list, dict or string, got {named(x)}", hints=hints)


@call_rule("enumerate", enumerate)
def enumerate_(t: Translator, iterable: Val, /, start: Val = 0) -> Val:
    first = known(start)
    if not isinstance(first, int):
        raise bad("enumerate", "start", f"must be a constant integer, got {named(start)}")
    items = items_of("enumerate", "iterable", 0, iterable)
    return live(enumerate(items, first), items)


@call_rule("zip", zip)
def zip_(t: Translator, *iterables: Val, strict: Val = False) -> Val:
    found = [items_of("zip", "iterables", i, iterable) for i, iterable in enumerate(iterables)]
    return folding.run("zip", lambda: live(zip(*found, strict=bool(known(strict))), *found))


def items_of(what: str, argument: str, number: int, value: Val) -> tuple[Val, ...]:
    """What a loop goes over, a tuple, list or dict; the length of all else is not known while compiling."""
    value = listed(what, value)
    if isinstance(value, tuple):
        return value
    if isinstance(value, Keywords):
        return Live(value.items, value.made, keys=True)
    message = f"{what}: expected a tuple, got {named(value)}"
    hints = ["count its arrays: for i in range(len(xs)), and x = xs[i]"] if is_list(value) else []
    if isinstance(value, Range):
        message = f"{what}: expected a tuple or a range of constants, got a range that only the run knows"
        hints = ["loop over the range alone: for i in range(n)"]
    elif is_tile(value) and what == "sum":
        hints = ["add up the elements of a tile with ct.sum(t, axis)"]
    raise TileTypeError(message, hints=hints, subject=Subject(argument, number))


@call_rule("builtin reversed", reversed)
def reversed_(t: Translator, x: Val, /) -> Val:
    if not isinstance(x, Range):
        items = items_of("reversed", "x", 0, x)
        found = live(items[::-1], items)
        return Live(found, found.made, -found.order, found.keys) if isinstance(found, Live) else found
    if x.numbers is not None:
        down = x.numbers[::-1]
        return Range(down.start, down.stop, down.step)
    if known(x.step) is None:
        raise bad("reversed", "x", "must be a range with a constant step")
    count = binary(t, "cdiv", binary(t, "sub", x.stop, x.start, "-"), x.step, "reversed")
    behind = binary(t, "add", x.start, binary(t, "mul", count, x.step, "*"), "+")
    first, last = (binary(t, "sub", end, x.step, "-") for end in (behind, x.start))
    return Range(first, last, -known(x.step))  # type: ignore[operator]


@call_rule("builtin sum", sum)
def sum_(t: Translator, x: Val, /, start: Val = 0) -> Val:
    items = items_of("sum", "x", 0, x)
    needless = known(start) == 0 and bool(items) and is_tile(items[0]) and items[0].type.dtype.is_float
    terms = items if needless else (start, *items)
    return functools.reduce(lambda a, b: binary(t, "add", a, b, "sum"), terms)


@call_rule("functools.reduce", functools.reduce)
def reduce_(t: Translator, function: Val, sequence: Val, initial: Val = _NO_VALUE, /) -> Val:
    items = items_of("reduce", "sequence", 0, sequence)
    items = items if initial is _NO_VALUE else (initial, *items)
    if not items:
        raise bad("reduce", "sequence", "is empty, and there is no initial value")
    return functools.reduce(lambda a, b: call_value(t, function, (a, b), {}), items)


@call_rule("builtin min", min)
def min_(t: Translator, *values: Val) -> Val:
    return _extreme(t, "min", "minimum", values)


@call_rule("builtin max", max)
def max_(t: Translator, *values: Val) -> Val:
    return _extreme(t, "max", "maximum", values)


def _extreme(t: Translator, what: str, name: str, values: tuple[Val, ...]) -> Val:
    if len(values) == 1 and isinstance(values[0], tuple) and values[0]:
        values = values[0]
    elif len(values) < 2:
        hints = [f"reduce a tile with ct.{what}(t, axis)"] if values and is_tile(values[0]) else []
        raise TileTypeError(f"{what}: takes two numbers or more, or a tuple of them, got {len(values)}", hints=hints)
    return functools.reduce(lambda x, y: binary(t, name, x, y, what), values)


def _number(what: str, value: Val) -> bool | int | float | str:
    constant = known(value)
    if constant is not None:
        return constant
    if isinstance(value, str):
        return value
    dtype = {"int": "int32", "float": "float32", "bool": "bool_"}[what]
    hints = [f"convert tiles with x.astype(ct.{dtype})"] if is_tile(value) else []
    raise bad(what, "x", f"must be a number, got {named(value)}", hints=hints)


def _is_run_time(value: Val) -> bool:
    return known(value) is None and is_tile(value) and not value.type.shape


@call_rule("int", int)
def int_(t: Translator, x: Val = 0, /) -> Val:
    if _is_run_time(x):
        return x if x.type.dtype.is_int and x.type.dtype is not d.bool_ else cast(t, x, d.int32)
    return folding.run("int", int, _number("int", x))  # type: ignore[arg-type]


@call_rule("float", float)
def float_(t: Translator, x: Val = 0.0, /) -> Val:
    if _is_run_time(x):
        return x if x.type.dtype is d.float64 else cast(t, x, d.float32)
    return folding.run("float", float, _number("float", x))  # type: ignore[arg-type]


@call_rule("bool", bool)
def bool_(t: Translator, x: Val = False, /) -> Val:
    return cast(t, x, d.bool_) if _is_run_time(x) else bool(_number("bool", x))


@call_rule("builtin round", round)
def round_(t: Translator, x: Val, /, ndigits: Val = None) -> Val:
    if ndigits is None:
        return unary(t, "round", x)
    if known(x) is None or known(ndigits) is None:
        raise bad("round", "ndigits", "is possible for constants only",
                  hints=["scale around it: ct.round(x * 100.0) / 100.0"])
    return folding.run("round", round, known(x), known(ndigits))  # type: ignore[arg-type]


@call_rule("tuple", tuple)
def tuple_(t: Translator, x: Val = (), /) -> Val:
    return x if isinstance(x, tuple) and not isinstance(x, (ListOf, Live)) else tuple(items_of("tuple", "x", 0, x))


def _same_item(x: Val, y: Val) -> bool:
    """Whether two constants are equal, as Python compares the items of a tuple."""
    for value in (x, y):
        if is_tile(value) and known(value) is None:
            raise TileTypeError(f"the items of a tuple are compared while compiling, but one is {named(value)}",
                                hints=["compare run-time values one by one"])
    left, right = (v if known(v) is None else known(v) for v in (x, y))
    return bool(left == right)


@call_rule("tuple.index")
def tuple_index(t: Translator, x: Val, value: Val, /) -> Val:
    for number, item_ in enumerate(x):
        if _same_item(item_, value):
            return number
    raise bad("index", "value", f"is {named(value)}, which is not in the tuple", TileValueError)


@call_rule("tuple.count")
def tuple_count(t: Translator, x: Val, value: Val, /) -> Val:
    return sum(_same_item(item_, value) for item_ in x)


@call_rule("namedtuple._replace")
def tuple_replace(t: Translator, x: Val, /, **changes: Val) -> Val:
    fields = dict(zip(x._fields, x, strict=True))
    return type(x)(**{**fields, **_known_fields("_replace", fields, changes, named(x))})


def _known_fields(what: str, fields: Mapping[str, Val], changes: Mapping[str, Val], owner: str) -> Mapping[str, Val]:
    """The changes, each to a field that there is."""
    for name in changes:
        if name not in fields:
            raise TileTypeError(f"{what}: {owner} has no field {name}",
                                hints=[f"its fields are {', '.join(fields)}"], subject=Subject(keyword=name))
    return changes


@call_rule("str", str)
def str_(t: Translator, x: Val = "", /) -> Val:
    return joined(shown(t, x))


@call_rule("repr", repr)
def repr_(t: Translator, x: Val, /) -> Val:
    return joined(shown(t, x, quoted=True))


@call_rule("getattr", getattr)
def getattr_(t: Translator, x: Val, name: Val, /) -> Val:
    if not isinstance(name, str):
        raise bad("getattr", "name", f"must be a constant string, got {named(name)}")
    return member(t, x, name)


@call_rule("replace", dataclasses.replace)
def replace(t: Translator, obj: Val, /, **changes: Val) -> Val:
    if not isinstance(obj, Struct):
        raise bad("replace", "obj", f"must be a dataclass object, got {named(obj)}")
    return Struct(obj.type, {**obj.fields, **_known_fields("replace", obj.fields, changes, obj.type.__name__)})


@call_rule("operator.getitem", operator.getitem)
def getitem(t: Translator, x: Val, index: Val, /) -> Val:
    return item(t, x, index)


@call_rule("ensure_constant")
def ensure_constant(t: Translator, x: Val, /) -> Val:
    if known(x) is None and (is_tile(x) or is_list(x)):
        raise TileStaticAssertionError(f"ensure_constant: {named(x)} is not a constant",
                                       hints=["annotate the kernel's parameter with ct.Constant[int]"])
    return x


# Python's print is the language's.
BY_VALUE[print] = "print"
