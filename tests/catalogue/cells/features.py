"""Cells of what is no function: statements, expressions, builtins, members, compile-time evaluation.

Each feature is a function of the block's number and of a tile of four int32 values. Python itself is the reference: the
same function runs on NumPy values where it can, else a second function says what Python would give.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.model import Array, Batch

import tilewright as ct

Feature = tuple[tuple[str, ...], Callable[..., Any], Callable[..., Any]]
FEATURES: list[Feature] = []
LIMIT = 5
PAIR = (3, (4, 5))


def feature(*names: str, like: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Register a function f(b, t) as what shows the names; `like` is its meaning in NumPy where it is another."""

    def register(function: Any) -> Any:
        FEATURES.append((names, function, like or function))
        return function

    return register


# -- Assignments -------------------------------------------------------------------------------------------------------


@feature("statement assignment", "statement chained assignment", "statement annotated assignment")
def assignments(b, t):
    x = y = t + b
    z: int = x * 2
    return y + z


@feature("statement augmented assignment")
def augmented(b, t):
    x = t + 0
    x += 7
    x -= b
    x *= 3
    x //= 2
    x %= 100
    x <<= 2
    x >>= 1
    x &= 0xFF
    x |= 5
    x ^= 3
    return x


@feature("statement tuple unpacking", "expression tuple display")
def unpacking(b, t):
    (x, y), z = (t, b), 3
    x, y = y, x
    return y * z + x


@feature("statement pass", "statement docstring", "statement expression")
def nothing(b, t):
    """It does nothing."""
    pass
    t + 1
    return t


# -- Branches and loops ------------------------------------------------------------------------------------------------


@feature("statement if", "statement elif", "statement else")
def branches(b, t):
    if b == 0:
        x = t + 1
    elif b < 0:
        x = t
    else:
        x = t - 1
    return x


@feature("statement while")
def while_loop(b, t):
    n = 0
    x = t
    while n < 3 + b:
        x = x * 3 + n
        n += 1
    return x


@feature("statement while True", "statement break", "statement continue")
def forever(b, t):
    n = 0
    x = t
    while True:
        n += 1
        if n % 2 == 0:
            continue
        x = x + n
        if n > 4 + b:
            break
    return x


@feature("statement for range", "builtin range")
def ranges(b, t):
    x = t
    for i in range(3 + b):
        x = x * 2 + i
    for i in range(b, 5):
        x = x + i
    for i in range(b, 11, 2 + b):
        x = x - i
    steps = range(4)
    for i in steps:
        x = x ^ i
    return x


@feature("statement for range", "statement break", "statement continue")
def leaving_for(b, t):
    x = t
    for i in range(9):
        if i == 2:
            continue
        if i > 4 + b:
            break
        x = x * 3 - i
    return x


@feature("statement nested loops")
def nested_loops(b, t):
    x = t
    for i in range(2 + b):
        n = i
        while n < 4:
            for k in range(n):
                x = x + k * i
            n += 1
    return x


@feature("statement return", "call of a helper", "recursion")
def early_return(b, t):
    def power(x, n):
        if n == 0:
            return x * 0 + 1
        return x * power(x, n - 1)

    def sign(x):
        if x == 0:
            return -1
        return 1

    return power(t, 3) * sign(b)


@feature("return inside while", "statement return")
def found(b, t):
    def first(n):
        while True:
            if n % 7 == 3:
                return n
            n += 1

    return t + first(b * 5)


# -- Functions ---------------------------------------------------------------------------------------------------------


@feature("statement def", "closure", "closures capture by reference")
def closures(b, t):
    k = 1

    def add(x):
        return x + k

    k = 10
    return add(t) + add(b)


@feature("expression lambda", "parameter defaults", "keyword arguments")
def lambdas(b, t):
    f = lambda x, y=2, *, z=3: x * y + z  # noqa: E731
    return f(t) + f(b, 5) + f(t, y=1, z=b)


@feature("parameters *args and **kwargs", "call with * and **", "dict.get")
def variadic(b, t):
    def total(*items, **named):
        return items[0] + items[1] * named["scale"] + named.get("shift", 7)

    pair = (t, b)
    return total(*pair, scale=3) + total(b, *(t,), scale=2, shift=1)


def outer_helper(x, /, y, *, z=4):
    return x * z - y


@feature("positional-only and keyword-only parameters", "call of a helper")
def parameter_kinds(b, t):
    return outer_helper(t, b) + outer_helper(t, y=b, z=2)


@feature("function as a value")
def passed(b, t):
    def twice(f, x):
        return f(f(x))

    return twice(lambda x: x * 3 + b, t)


# -- Expressions -------------------------------------------------------------------------------------------------------


@feature("expression chained comparison", like=lambda b, t: np.where((t > -5) & (t < 40), t, b).astype(np.int32))
def chained(b, t):
    inside = 1 if 0 <= b < 2 else 0
    return ct.where((t > -5) & (t < 40), t * inside, b)


@feature("operator and", "operator or", "operator not", "expression ternary")
def logic(b, t):
    x = t + 1 if b == 0 and LIMIT > 2 or b > 7 else t - 1
    return x * 2 if not b > 0 else x


@feature("expression is None", "literal None")
def nothing_given(b, t):
    def shifted(x, by=None):
        return x if by is None else x + by

    y = None
    return shifted(t) + shifted(t, b) if y is None and b is not None else t


@feature("expression in", "expression not in")
def membership(b, t):
    x = t + 1 if b in (1, 4) else t
    return x * 2 if b not in (0, 7) else x


@feature("expression tuple index", "expression tuple slice", "expression tuple +", "expression tuple ==",
         "builtin len", "expression tuple star")
def tuples(b, t):
    items = (1, t, 3) + (b, *PAIR)
    pairs = items[1:3]
    same = (1, 2) == (1, 2) and (1, 2) != (1, 3)
    return items[-2] * pairs[0] + len(items) if same else t


@feature("expression tuple comprehension", "builtin tuple", "static_iter",
         like=lambda b, t: t * 7 + 0 + 2 + 20 + 22)
def comprehension(b, t):
    items = tuple(10 * i + k for i in ct.static_iter((0, 1, 2)) if i != 1 for k in ct.static_iter(range(3)) if k != 1)
    total = t * tuple((5, 6, 7))[2]
    for item in ct.static_iter(items):
        total = total + item
    return total


@feature("literal int", "literal float", "literal bool", "literal str", "loose constants",
         like=lambda b, t: t + 3 + 1)
def literals(b, t):
    name = "x"
    half = 1.5
    return t + int(half * 2) + (1 if True and name == "x" else 0)


@feature("expression attribute", "module constant", like=lambda b, t: t + 3)
def attributes(b, t):
    return t + int(math.pi) if math.inf > 1e9 and np.inf > 0 else t


# -- Builtins and library functions ------------------------------------------------------------------------------------


@feature("builtin min", "builtin max", "builtin abs", "builtin divmod")
def builtins_of_numbers(b, t):
    q, r = divmod(17, 5)
    return abs(t) * q + min(b, 1) - max(r, 2)


@feature("builtin int", "builtin float", "builtin bool", "builtin str", "builtin repr",
         like=lambda b, t: t + 7 + 1 + 2 + 1 + 1)
def constructors(b, t):
    return t + int(7.9) + int(bool(3)) + int(float(2)) + int(str(12) == "12") + int(repr("a") == "'a'")


@feature("operator.add", "operator.sub", "operator.mul", "operator.floordiv", "operator.mod", "operator.and_",
         "operator.or_", "operator.xor", "operator.lshift", "operator.rshift", "operator.neg", "operator.pos",
         "operator.invert", "operator.abs", "operator.pow", "operator.getitem")
def operators(b, t):
    x = operator.add(operator.mul(t, 3), operator.sub(b, 7))
    x = operator.xor(operator.or_(operator.and_(x, 0x7F), 9), operator.lshift(b, 2))
    x = operator.floordiv(x, 3) + operator.mod(x, 5) + operator.rshift(x, 1)
    x = operator.neg(x) + operator.pos(t) + operator.invert(t) + operator.abs(x)
    return operator.getitem((x, t), 0) + operator.pow(t, 2)


@feature("operator.eq", "operator.ne", "operator.lt", "operator.le", "operator.gt", "operator.ge", "operator.not_",
         "operator.truediv",
         like=lambda b, t: np.where(t == 3, 1, np.where(t < 0, 2, np.where(t >= 20, 3, 4))).astype(np.int32))
def comparisons(b, t):
    a = ct.where(operator.eq(t, 3), 1, ct.where(operator.lt(t, 0), 2, ct.where(operator.ge(t, 20), 3, 4)))
    wrong = operator.ne(t, t) | operator.gt(t, t) | operator.not_(operator.le(t, t))
    return ct.where(wrong | (operator.truediv(t, 1.0) != t), 0, a)


@feature("getattr with a constant name", like=lambda b, t: t + 1)
def named_attribute(b, t):
    return t + getattr(ct, "int32")(1)


# -- Dataclasses, enums, context managers ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 2

    def scaled(self, by):
        return Point(self.x * by, self.y)

    @property
    def total(self):
        return self.x + self.y

    @staticmethod
    def start(x):
        return Point(x)

    @classmethod
    def both(cls, x):
        return cls(x, x)

    def __call__(self, z):
        return self.x - z

    def __getitem__(self, k):
        return self.x if k == 0 else self.y


ORIGIN = Point(5, 6)


@feature("dataclass construction", "dataclass field", "dataclass method", "dataclass property",
         "dataclass static method", "dataclass class method", "dataclass __call__", "dataclass __getitem__",
         "dataclasses.replace", "captured dataclass")
def dataclass(b, t):
    p = Point(t, b).scaled(3)
    q = dataclasses.replace(p, y=10)
    return p.total + q.total + q(4) + q[1] + ORIGIN.x + Point.start(b).y + Point.both(t).y


@dataclasses.dataclass(frozen=True)
class Slot:
    array: Any
    place: Any

    def __post_init__(self):
        ct.static_assert(self.array.ndim == 1)

    def __setitem__(self, k, value):
        ct.store(self.array, (self.place + k,), value)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 40


@feature("enum member", "enum comparison", "enum .name and .value", "IntEnum arithmetic", "enum construction")
def enums(b, t):
    colour = Colour.RED
    x = t + colour.value if colour == Colour.RED and colour.name == "RED" else t
    return x * Level.LOW + Level.HIGH if Colour(2) != colour else t


@contextlib.contextmanager
def doubled(x):
    yield x * 2


@feature("statement with", "contextlib.contextmanager", like=lambda b, t: t * 2 + b + 1)
def with_statement(b, t):
    with doubled(t) as twice:
        x = twice + b
    with doubled(x):
        x = x + 1
    return x


# -- Compile time ------------------------------------------------------------------------------------------------------


@feature("static_eval", "static_assert", "static_iter", "ensure_constant", "statement for static_iter",
         like=lambda b, t: t * 8 + 6 + 24)
def compile_time(b, t):
    ct.static_assert(t.shape == (4,), "the tile has four elements")
    size = ct.static_eval(sum(t.shape) + len([1, 2]))
    x = t * 0
    for k in ct.static_iter([t, 3, t]):
        x = x + k * 2
    return x * 2 + size + ct.ensure_constant(LIMIT + 7)


SHORT = np.int16(300)


@feature("strictly typed constants", "captured NumPy scalar", "int8", "int16",
         like=lambda b, t: t + np.int32(44) + np.int32(300))
def strict_constants(b, t):
    small, short = ct.int8(300), ct.int16(SHORT)
    strict = small.dtype == ct.int8 and SHORT.dtype == ct.int16
    return t + ct.astype(small, ct.int32) + ct.astype(short, ct.int32) if strict else t


@feature("NumPy dtype as dtype", like=lambda b, t: t + 3)
def foreign_dtypes(b, t):
    return ct.astype(ct.astype(t, np.float64) + ct.full((4,), 3, np.float64), np.int32)


@feature("unbound methods", "Tile.reshape", "Tile.astype", like=lambda b, t: t)
def unbound(b, t):
    wide = ct.Tile.reshape(t, (2, 2))
    return ct.Tile.reshape(ct.Tile.astype(wide, ct.int64), (4,))


@feature("joins of branches", "loop-carried variables", "variables that a loop leaves")
def joins(b, t):
    if b == 0:
        x, n = t, 1
    else:
        x, n = t * 2, 5
    last = 0
    for i in range(3):
        x = x + n * i
        last = i
    return x + last


@feature("dead branches of constants", like=lambda b, t: t + 1)
def dead(b, t):
    if t.ndim == 1:
        return t + 1
    return t.no_such_thing


# -- Members -----------------------------------------------------------------------------------------------------------


@feature("Tile.dtype", "Tile.shape", "Tile.ndim", like=lambda b, t: t + 4 + 1 + 1)
def tile_members(b, t):
    return t + t.shape[0] + t.ndim + (1 if t.dtype == ct.int32 and (3).dtype == ct.int32 else 0)


@feature("bid", "num_blocks", like=lambda b, t: t + b + 2 * 10 + 1 + 1)
def index_space(b, t):
    return t + ct.bid(0) + ct.num_blocks(0) * 10 + ct.num_blocks(1) + ct.num_blocks(2) + ct.bid(1) + ct.bid(2)


@feature("assume_divisible_by", like=lambda b, t: t + 16 * b)
def assumption(b, t):
    return t + ct.assume_divisible_by(b * 16, 8)


@feature("grid_dependency_control_wait", "grid_dependency_control_launch_dependents", like=lambda b, t: t)
def dependent_launch(b, t):
    ct.grid_dependency_control_wait()
    ct.grid_dependency_control_launch_dependents()
    return t


@feature("operator @", "Tile.reshape", like=lambda b, t: np.full(4, (t * t).sum(), np.int32))
def scalar_result(b, t):
    x = t.astype(ct.float32).reshape((1, 4))
    return ct.full((4,), (x @ x.reshape((4, 1))).item(), ct.int32)


# -- Batches -----------------------------------------------------------------------------------------------------------


def feature_task(names: tuple[str, ...], function: Callable[..., Any], like: Callable[..., Any]) -> Task:
    def body(ins, out):
        t = ct.load(ins[0], (ct.bid(0), 0), (1, 4)).reshape((4,))
        ct.store(out, (ct.bid(0), 0), ct.astype(ct.broadcast_to(function(ct.bid(0), t), (4,)), ct.int32)[None])

    def reference(ins: tuple[Any, ...], out: Array) -> Array:
        for b in range(2):
            out[b] = like(b, ins[0][b])
        return out

    return Task(names, 1, "control flow", lambda rng: ((rng.integers(-20, 50, (2, 4)).astype(np.int32),),
                                                       np.zeros((2, 4), np.int32)), body, reference)


def array_tasks() -> Iterator[Task]:
    """Members of arrays, views and lists; arguments that are no arrays."""

    def members(ins, out):
        x = ins[0]
        n = x.shape[0] * 1000 + x.shape[1] * 100 + x.strides[0] * 10 + x.strides[1] + x.ndim
        if x.dtype == ct.float32 and ct.bid(0) == 0:
            ct.store(out, (0,), n)

    yield Task(("Array.dtype", "Array.ndim", "Array.shape", "Array.strides"), 0, "whole",
               lambda rng: ((np.zeros((3, 5), np.float32),), np.zeros(1, np.int32)), members,
               lambda ins, out: np.array([3000 + 500 + 50 + 1 + 2], np.int32))

    def view_members(ins, out):
        view = ins[0].tiled_view((4, 8), traversal_steps=(3, 8))
        n = view.tile_shape[1] * 1000 + view.traversal_steps[0] * 100 + view.num_tiles(0) * 10 + view.num_tiles(-1)
        if view.dtype == ct.float32 and ins[0].get_raw_memory().dtype == ct.float32:
            ct.store(out, (ct.bid(0),), n + ct.bid(0))

    yield Task(("TiledView.dtype", "TiledView.tile_shape", "TiledView.traversal_steps", "TiledView.num_tiles",
                "RawArrayMemory.dtype"), 0, "ragged",
               lambda rng: ((np.zeros((10, 17), np.float32),), np.zeros(2, np.int32)), view_members,
               lambda ins, out: np.array([8000 + 300 + 43, 8000 + 300 + 44], np.int32))

    def tiles(ins, out):
        x = ins[0]
        n = ct.num_tiles(x, 0, (4, 8)) * 100 + ct.num_tiles(x, axis=-1, shape=(4, 8)) * 10
        ct.store(out, (ct.bid(0),), n + ct.num_tiles(x, 0, (8, 4), order="F"))

    yield Task(("num_tiles", "num_tiles(order)"), 0, "ragged",
               lambda rng: ((np.zeros((10, 17), np.float32),), np.zeros(2, np.int32)), tiles,
               lambda ins, out: np.full(2, 300 + 30 + 3, np.int32))

    def subscripts(ins, out):
        slot = Slot(out, ct.bid(0) * 2)
        slot[0] = 5 + ct.bid(0)
        slot[1] = ins[0].shape[0]

    yield Task(("statement subscript assignment", "dataclass __setitem__", "dataclass __post_init__"), 0, "whole",
               lambda rng: ((np.zeros(3, np.float32),), np.zeros(4, np.int32)), subscripts,
               lambda ins, out: np.array([5, 3, 6, 3], np.int32))

    def lists(ins, out):
        items = ins[0]
        total = 0
        for i in range(len(items)):
            total += items[i].shape[0] * (i + 1)
        t = ct.load(items[ct.bid(0) + 1], (0,), (4,))
        ct.store(out, (ct.bid(0), 0), (t + total + ct.load(items[0], (2,), ()))[None])

    yield Task(("list argument", "list len", "list index"), 1, "whole",
               lambda rng: (([rng.integers(0, 9, n).astype(np.int32) for n in (5, 4, 7)],), np.zeros((2, 4), np.int32)),
               lists, lambda ins, out: np.stack([ins[0][b + 1][:4] + 5 + 8 + 21 + ins[0][0][2] for b in range(2)]))

    def scalars(ins, out):
        whole, fraction, flag, nested = ins
        x = whole * 2 + nested[0] if flag else whole
        ct.store(out, (ct.bid(0),), ct.astype(x, ct.float32) + fraction + nested[1][0])

    yield Task(("int argument", "float argument", "bool argument", "tuple argument"), 0, "whole",
               lambda rng: ((7, 0.5, True, (3, (0.25,))), np.zeros(2, np.float32)), scalars,
               lambda ins, out: np.full(2, 17.75, np.float32))


def batches() -> Iterator[Batch]:
    for names, function, like in FEATURES:
        yield arraywise(f"feature-{function.__name__}", "int32", [feature_task(names, function, like)])
    yield arraywise("feature-members", "float32", list(array_tasks()))
