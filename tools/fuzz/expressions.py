"""Random expressions of the language as text, by the dtype and shape that is wanted of them.

Products of floats are operands of a sum, which fuses them, or of another function: never variables, whose fusion would
depend on all their users. Float sums that would depend on their order are of small integers, which are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Shape = tuple[int, ...]
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
THROUGH = ("tfloat32", "float8_e4m3fn", "float8_e5m2")  # formats that tiles are converted to and from
WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
SMALL: tuple[Shape, ...] = ((), (1,), (2,), (8,), (16,), (4, 4), (1, 8), (2, 8), (8, 1), (2, 1, 4))
LARGE: tuple[Shape, ...] = ((), (1,), (64,), (128,), (256,), (16, 16), (8, 32), (1, 64), (128, 1), (4, 8, 8))
CONSTANTS = ("0.0", "1.0", "-2.0", "0.5", "3.25", "-0.0", "1e6")
BOUNDS = ("0.0", "-0.0", "1.0", "-1.0", "6.0")
HELPERS = """from dataclasses import dataclass

@dataclass(frozen=True)
class Pair:
    a: object
    b: object

    def __add__(self, other):
        return Pair(self.a + other.b, self.b + other.a)

    def chosen(self, first):
        return pick(first, self.a, self.b)

def pick(first, a, b, again=False):
    if first:
        return a
    if again:
        return pick(first, b, a)
    return b

def at_least(low):
    return lambda t: ct.maximum(t, low)

"""
DEPTH = 3


@dataclass(frozen=True)
class Variable:
    name: str
    dtype: str
    shape: Shape


def size_of(shape: Shape) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def bits_of(dtype: str) -> int:
    return WIDTHS.get(dtype) or int(dtype.strip("uint"))


class Expressions:
    """What programs have: dtypes, shapes, extents, variables. Expressions of elements on their own."""

    def __init__(self, seed: int, integers: bool = False) -> None:
        self.rng = random.Random(seed)
        always = ["int32"] if integers else ["int32", "float32"]
        others = [d for d in (INTS if integers else (*INTS, *FLOATS)) if d not in always]
        self.dtypes = [*always, *self.rng.sample(others, 4 - len(always))]
        chosen = SMALL if self.rng.random() < 0.75 else LARGE
        self.shapes = [(), *self.rng.sample(chosen[1:], 3)]
        self.length = self.rng.choice([0, 1, 1, 2, 2, 15, 16, 16, 17, 17, 31, 32, 33, 100, 256, 257])
        self.rows, self.columns = self.rng.choice([(1, 1), (1, 16), (3, 5), (4, 16), (7, 33), (16, 64), (17, 1)])
        self.grid = self.rng.choice([1, 1, 2, 3, 5])
        self.shift = self.rng.choice([0, 0, 8, 16])  # how far the rows of `q` lie behind those of `p`
        self.variables: list[Variable] = []
        self.names = 0

    def moved(self, dtype: str, shape: Shape, depth: int) -> str:
        raise NotImplementedError

    def load(self, dtype: str, shape: Shape) -> str:
        raise NotImplementedError

    def constant(self, dtype: str) -> str:
        if dtype == "bool_":
            return self.rng.choice(["True", "False"])
        if dtype in FLOATS:
            return self.rng.choice(CONSTANTS)
        bits, signed = bits_of(dtype), dtype[0] == "i"
        edges = [0, 1, 2, 3, 7, (1 << bits - signed) - 1]
        return str(self.rng.choice(edges + [-1, -5, -(1 << bits - 1)] * signed))

    def leaf(self, dtype: str, shape: Shape) -> str:
        known = [v.name for v in self.variables if (v.dtype, v.shape) == (dtype, shape)]
        if known and self.rng.random() < 0.75:
            return self.rng.choice(known[-6:])
        kind = self.rng.randrange(6)
        if kind < 3 and dtype in (*self.dtypes, "bool_"):
            return self.load(dtype, shape)
        if kind == 3 and len(shape) == 1 and dtype in (*INTS, *FLOATS):
            start = f", start={self.constant(dtype)}" if dtype in INTS and self.rng.random() < 0.3 else ""
            return f"ct.arange({shape[0]}, dtype=ct.{dtype}{start})"
        if kind == 4 and not shape and dtype == "int32":
            return self.rng.choice(["ct.bid(0)", "ct.num_blocks(0)", "n"])
        if kind == 4 and not shape and dtype == "float32":
            return "f"
        if not shape:
            return f"ct.{dtype}({self.constant(dtype)})"
        return f"ct.full({shape}, {self.constant(dtype)}, ct.{dtype})"

    def expr(self, dtype: str, shape: Shape, depth: int = DEPTH) -> str:
        """An expression in parentheses."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self.leaf(dtype, shape)
        draw = self.rng.random()
        if draw < 0.3:
            moved = self.moved(dtype, shape, depth - 1)
            if moved:
                return moved
        if draw > 0.96:
            return self.structured(dtype, shape, depth - 1)
        if dtype == "bool_":
            return self.boolean(shape, depth - 1)
        return (self.floating if dtype in FLOATS else self.integer)(dtype, shape, depth - 1)

    def narrower(self, shape: Shape) -> Shape:
        """A shape that broadcasts to this one."""
        if self.rng.random() < 0.7 or not shape:
            return shape
        if self.rng.random() < 0.3:
            return shape[1:]
        return tuple(1 if self.rng.random() < 0.5 else n for n in shape)

    def pair(self, dtype: str, shape: Shape, depth: int) -> tuple[str, str]:
        """Two operands that broadcast to the shape, one of them perhaps a number."""
        one, other = self.expr(dtype, shape, depth), self.expr(dtype, self.narrower(shape), depth)
        if self.rng.random() < 0.15 and dtype != "bool_":
            other = self.constant(dtype)
            other = f"({other})"
            return one, other
        return (one, other) if self.rng.random() < 0.5 else (other, one)

    def structured(self, dtype: str, shape: Shape, depth: int) -> str:
        """By way of a helper, a dataclass, a lambda or an expression with `if`."""
        x, y, cond = self.expr(dtype, shape, depth), self.expr(dtype, shape, depth), self.expr("bool_", (), 1)
        ways = [f"Pair({x}, {y}).{self.rng.choice('ab')}", f"Pair({x}, {y}).chosen({cond})", f"pick({cond}, {x}, {y})",
                f"pick({cond}, {x}, {y}, again=True)", f"({x} if {cond} else {y})", f"(lambda s, t: s)({x}, {y})",
                f"tuple(t for t in ({x}, {y}))[{self.rng.randrange(2)}]"]
        if dtype != "bool_":
            ways += [f"at_least({self.constant(dtype)})({x})", f"(lambda t, s={y}: ct.minimum(s, t))({x})"]
            ways += [f"(Pair({x}, {y}) + Pair({y}, {x})).{self.rng.choice('ab')}"] * (depth < 2)
        return self.rng.choice(ways)

    def integer(self, dtype: str, shape: Shape, depth: int) -> str:
        rng = self.rng
        ways: list[Callable[[str, Shape, int], str]] = [
            *[self.integer_pair] * 5, self.shifted, *[self.divided] * 2, self.either, self.integer_unary, self.cast,
            self.counted_bits if dtype == "int32" else self.cast, self.bitcast, self.rounded_up]
        return rng.choice(ways)(dtype, shape, depth)

    def integer_pair(self, dtype: str, shape: Shape, depth: int) -> str:
        a, b = self.pair(dtype, shape, depth)
        kind = self.rng.randrange(9)
        if kind < 6:
            return f"({a} {'+-*&|^'[kind]} {b})"
        low, high = sorted([self.constant(dtype), self.constant(dtype)], key=int)
        return f"ct.{['minimum', 'maximum'][kind % 2]}({a}, {b})" if kind < 8 else (
            f"ct.clamp({self.expr(dtype, shape, depth)}, {low}, {high})")

    def shifted(self, dtype: str, shape: Shape, depth: int) -> str:
        whole, count = self.expr(dtype, shape, depth), self.expr(dtype, self.narrower(shape), depth)
        return f"({whole} {self.rng.choice(['<<', '>>'])} ({count} & {bits_of(dtype) - 1}))"

    def divided(self, dtype: str, shape: Shape, depth: int) -> str:
        x, by = self.expr(dtype, shape, depth), self.rng.choice([1, 2, 3, 7, 8, 100])
        if self.rng.random() < 0.25:  # by what is known at run time only
            return f"({x} {self.rng.choice(['//', '%'])} (({self.expr(dtype, shape, depth)} & 31) | 1))"
        if self.rng.random() < 0.2:
            return f"ct.divmod({x}, {by})[{self.rng.randrange(2)}]" if dtype == "int32" else f"(({x} % {by}) ** 2)"
        return f"({x} {self.rng.choice(['//', '%'])} {by})"

    def rounded_up(self, dtype: str, shape: Shape, depth: int) -> str:
        return f"ct.cdiv({self.expr(dtype, shape, depth)}, {self.rng.choice([1, 2, 3, 16])})"

    def integer_unary(self, dtype: str, shape: Shape, depth: int) -> str:
        x = self.expr(dtype, shape, depth)
        return self.rng.choice([f"(-{x})" if dtype[0] == "i" else f"(~{x})", f"(~{x})", f"abs({x})",
                                f"ct.pow({x}, {self.rng.choice([0, 1, 2, 3, 5])})"])

    def counted_bits(self, dtype: str, shape: Shape, depth: int) -> str:
        source = self.rng.choice([d for d in self.dtypes if d in INTS])
        return f"ct.{self.rng.choice(['popcount', 'clz', 'ffs'])}({self.expr(source, shape, depth)})"

    def bitcast(self, dtype: str, shape: Shape, depth: int) -> str:
        """From an integer of the same width: the bits of a NaN are nobody's promise."""
        alike = [d for d in INTS if bits_of(d) == bits_of(dtype)]
        return f"ct.bitcast({self.expr(self.rng.choice(alike), shape, depth)}, ct.{dtype})"

    def cast(self, dtype: str, shape: Shape, depth: int) -> str:
        source = self.rng.choice(["bool_", *self.dtypes])
        if source in FLOATS and self.rng.random() < 0.2:
            return f"{self.expr(source, shape, depth)}.astype(ct.{self.rng.choice(THROUGH)}).astype(ct.{dtype})"
        return f"{self.expr(source, shape, depth)}.astype(ct.{dtype})"

    def either(self, dtype: str, shape: Shape, depth: int) -> str:
        cond, x = self.expr("bool_", self.narrower(shape), depth), self.expr(dtype, shape, depth)
        return f"ct.where({cond}, {x}, {self.expr(dtype, self.narrower(shape), depth)})"

    def floating(self, dtype: str, shape: Shape, depth: int) -> str:
        ways: list[Callable[[str, Shape, int], str]] = [
            *[self.float_pair] * 3, *[self.fused] * 2, self.bounded, self.clamped, self.either, *[self.float_unary] * 2,
            self.cast, self.directed, self.bitcast, self.remainder]
        return self.rng.choice(ways)(dtype, shape, depth)

    def float_pair(self, dtype: str, shape: Shape, depth: int) -> str:
        a, b = self.pair(dtype, shape, depth)
        kind = self.rng.randrange(5)
        nan = self.rng.choice(["", "", ", propagate_nan=True"])
        return f"({a} {'+-/'[kind]} {b})" if kind < 3 else f"ct.{['minimum', 'maximum'][kind % 2]}({a}, {b}{nan})"

    def fused(self, dtype: str, shape: Shape, depth: int) -> str:
        """A product in a sum or difference, perhaps with a rounding mode, perhaps of two products."""
        x, y, z = (self.expr(dtype, shape, depth) for _ in range(3))
        if not shape:
            x = self.unknown(dtype)
        if self.rng.random() < 0.2:
            first, other = self.options(dtype), self.options(dtype)
            second = self.rng.choice([first, first, other])
            operands = f"ct.mul({x}, {y}, {first})", z
            one, other = operands if self.rng.random() < 0.5 else operands[::-1]
            return f"ct.{self.rng.choice(['add', 'sub'])}({one}, {other}, {second})"
        return self.rng.choice([f"({x} * {y} + {z})", f"({z} - {x} * {y})", f"({x} * {y} - {z})",
                                f"({x} * {y} {self.rng.choice('+-')} {x} * {z})"])

    def unknown(self, dtype: str) -> str:
        """A scalar that no compiler knows: a product of known numbers is a number, which nothing fuses."""
        tile = self.load(dtype, (1,)) if dtype in self.dtypes else f"ct.full((1,), {self.constant(dtype)}, ct.{dtype})"
        return f"{tile}.reshape(())"

    def bounded(self, dtype: str, shape: Shape, depth: int) -> str:
        a, b = self.pair(dtype, shape, depth)
        return f"ct.{self.rng.choice(['minimum', 'maximum'])}({a} * {b}, {self.constant(dtype)})"

    def clamped(self, dtype: str, shape: Shape, depth: int) -> str:
        """Between two constants, the minimum or the maximum first."""
        x, rng = self.expr(dtype, shape, depth), self.rng
        low, high = rng.choice(BOUNDS), rng.choice(BOUNDS)
        if rng.random() < 0.3 and float(low) <= float(high):
            return f"ct.clamp({x}, {low}, {high})"
        first, second = rng.sample(["minimum", "maximum"], 2)
        return f"ct.{second}(ct.{first}({x}, {high}), {low})"

    def float_unary(self, dtype: str, shape: Shape, depth: int) -> str:
        x = self.expr(dtype, shape, depth)
        names = ["(-", "abs(", "ct.sqrt(", "ct.floor(", "ct.ceil(", "ct.trunc(", "ct.round("]
        return f"{self.rng.choice(names)}{x})"

    def directed(self, dtype: str, shape: Shape, depth: int) -> str:
        """With a rounding mode of its own."""
        a, b = self.expr(dtype, shape, depth), self.expr(dtype, self.narrower(shape), depth)
        name = self.rng.choice(["add", "sub", "mul", "truediv"])
        text = f"ct.{name}({a}, {b}, {self.options(dtype)})"
        return f"abs({text})" if name == "mul" else text

    def options(self, dtype: str) -> str:
        """Of float arithmetic."""
        flush = ", flush_to_zero=True" if dtype == "float32" and self.rng.random() < 0.2 else ""
        return f"rounding_mode=ct.RoundingMode.{self.rng.choice(['RN', 'RZ', 'RM', 'RP'])}{flush}"

    def remainder(self, dtype: str, shape: Shape, depth: int) -> str:
        operands = self.pair(dtype, shape, depth)
        one, other = operands if self.rng.random() < 0.5 else operands[::-1]
        return f"({one} {self.rng.choice(['//', '%'])} {other})"

    def boolean(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        kind = rng.randrange(6)
        if kind < 3:
            a, b = self.pair(rng.choice(self.dtypes), shape, depth)
            return f"({a} {rng.choice('< <= > >= == !='.split())} {b})"
        if kind == 3:
            a, b = self.pair("bool_", shape, depth)
            return rng.choice([f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})"])
        if kind == 4 and not shape:
            a, b = self.pair("bool_", shape, depth)
            return rng.choice([f"({a} and {b})", f"({a} or {b})", f"({a} if not {b} else {b})"])
        if kind == 4:
            return f"(~{self.expr('bool_', shape, depth)})"
        floats = [d for d in self.dtypes if d in FLOATS]
        if not floats:
            return self.expr("bool_", shape, depth)
        source = rng.choice(floats)
        return f"ct.{rng.choice(['isnan', 'isinf', 'isfinite'])}({self.expr(source, shape, depth)})"
