"""Random well-typed kernels as Python source: expressions by the wanted dtype and shape, statements around them.

Products of floats are operands of a sum, which fuses them, or of another function: never variables, whose fusion would
depend on all their users. Float sums that would depend on their order are of small integers, which are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from fuzz.program import SLOT, Node, Parameter, Program

Shape = tuple[int, ...]
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SMALL: tuple[Shape, ...] = ((), (1,), (2,), (8,), (16,), (4, 4), (1, 8), (2, 8), (8, 1), (2, 1, 4))
LARGE: tuple[Shape, ...] = ((), (1,), (64,), (128,), (256,), (16, 16), (8, 32), (1, 64), (128, 1), (4, 8, 8))
CONSTANTS = ("0.0", "1.0", "-2.0", "0.5", "3.25", "-0.0", "1e6")
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


def generate(seed: int, statements: int | None = None) -> Program:
    """The program of a seed, of 3 to 11 statements: many small ones find more than few large ones."""
    return Generator(seed).program(3 + seed % 9 if statements is None else statements)


class Expressions:
    """Expressions of a wanted dtype and shape."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        others = [d for d in (*INTS, *FLOATS) if d not in ("int32", "float32")]
        self.dtypes = ["int32", "float32", *self.rng.sample(others, 2)]
        chosen = SMALL if self.rng.random() < 0.75 else LARGE
        self.shapes = [(), *self.rng.sample(chosen[1:], 3)]
        self.length = self.rng.choice([1, 2, 16, 17, 31, 33, 100, 257])
        self.rows, self.columns = self.rng.choice([(1, 1), (3, 5), (4, 16), (7, 33), (16, 64)])
        self.grid = self.rng.choice([1, 1, 2, 3, 5])
        self.variables: list[Variable] = []
        self.names = 0

    def constant(self, dtype: str) -> str:
        if dtype == "bool_":
            return self.rng.choice(["True", "False"])
        if dtype in FLOATS:
            return self.rng.choice(CONSTANTS)
        bits, signed = int(dtype.strip("uint")), dtype[0] == "i"
        edges = [0, 1, 2, 3, 7, (1 << bits - signed) - 1]
        return str(self.rng.choice(edges + [-1, -5, -(1 << bits - 1)] * signed))

    def leaf(self, dtype: str, shape: Shape) -> str:
        known = [v.name for v in self.variables if (v.dtype, v.shape) == (dtype, shape)]
        if known and self.rng.random() < 0.75:
            return self.rng.choice(known[-6:])
        kind = self.rng.randrange(4)
        if kind == 0 and dtype in self.dtypes:
            return self.load(dtype, shape)
        if kind == 1 and len(shape) == 1 and dtype in (*INTS, *FLOATS):
            return f"ct.arange({shape[0]}, dtype=ct.{dtype})"
        if kind == 2 and not shape and dtype == "int32":
            return self.rng.choice(["ct.bid(0)", "ct.num_blocks(0)", "n"])
        if not shape:
            return f"ct.{dtype}({self.constant(dtype)})"
        return f"ct.full({shape}, {self.constant(dtype)}, ct.{dtype})"

    def load(self, dtype: str, shape: Shape) -> str:
        rng = self.rng
        padding = rng.choice(["ZERO", "NEG_INF", "NAN", "NEG_ZERO"]) if dtype in FLOATS else "ZERO"
        if not shape:
            return f"ct.load(x_{dtype}, {rng.randrange(self.length)}, ())"
        if len(shape) == 2 and rng.random() < 0.8:
            extents = (self.rows, self.columns)
            order = rng.choice(["C", "C", "F"])
            across = extents if order == "C" else extents[::-1]
            index = tuple(rng.randrange(-(-n // s)) for n, s in zip(across, shape, strict=True))
            how = "" if order == "C" else ", order='F'"
            return f"ct.load(z_{dtype}, {index}, {shape}{how}, padding_mode=ct.PaddingMode.{padding})"
        size = size_of(shape)
        tiles = -(-self.length // size)
        index_ = rng.choice([str(rng.randrange(tiles)), f"ct.bid(0) % {tiles}"])
        source = f"x_{dtype}"
        if rng.random() < 0.2 and dtype == "int32":
            source = f"xs[{rng.randrange(3)}]"
        if rng.random() < 0.2:
            start = rng.randrange(self.length)
            source, index_ = f"{source}.slice(0, {start}, {rng.randint(start, self.length)})", "0"
            if source.endswith(f"{start})"):
                source = source.replace(f".slice(0, {start}, {start})", "")
        text = f"ct.load({source}, {index_}, {size}, padding_mode=ct.PaddingMode.{padding})"
        if rng.random() < 0.2:
            text = f"{source}.tiled_view({size}, padding_mode=ct.PaddingMode.{padding}).load({index_})"
        return text if shape == (size,) else f"{text}.reshape({shape})"

    def expr(self, dtype: str, shape: Shape, depth: int = DEPTH) -> str:
        """An expression in parentheses."""
        if depth <= 0 or self.rng.random() < 0.12:
            return self.leaf(dtype, shape)
        if self.rng.random() < 0.3:
            moved = self.moved(dtype, shape, depth - 1)
            if moved:
                return moved
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

    def integer(self, dtype: str, shape: Shape, depth: int) -> str:
        rng = self.rng
        bits = int(dtype.strip("uint"))
        a, b = self.pair(dtype, shape, depth)
        kind = rng.randrange(12)
        if kind < 5:
            return f"({a} {rng.choice('+ - * & | ^'.split())} {b})"
        if kind == 5:
            whole, count = self.expr(dtype, shape, depth), self.expr(dtype, self.narrower(shape), depth)
            return f"({whole} {rng.choice(['<<', '>>'])} ({count} & {bits - 1}))"
        if kind == 6:
            return f"({self.expr(dtype, shape, depth)} {rng.choice(['//', '%'])} {rng.choice([1, 2, 3, 7, 8, 100])})"
        if kind == 7:
            return f"ct.{rng.choice(['minimum', 'maximum'])}({a}, {b})"
        if kind == 8:
            return f"ct.where({self.expr('bool_', self.narrower(shape), depth)}, {self.expr(dtype, shape, depth)}, {b})"
        if kind == 9:
            return f"({rng.choice(['-', '~'] if dtype[0] == 'i' else ['~'])}{self.expr(dtype, shape, depth)})"
        if kind == 10:
            return f"abs({self.expr(dtype, shape, depth)})"
        return self.cast(dtype, shape, depth)

    def cast(self, dtype: str, shape: Shape, depth: int) -> str:
        source = self.rng.choice(["bool_", *self.dtypes])
        return f"{self.expr(source, shape, depth)}.astype(ct.{dtype})"

    def floating(self, dtype: str, shape: Shape, depth: int) -> str:
        rng = self.rng
        a, b = self.pair(dtype, shape, depth)
        kind = rng.randrange(12)
        if kind < 3:
            return f"({a} {rng.choice('+ - /'.split())} {b})"
        if kind < 5:
            full = self.expr(dtype, shape, depth)
            x, y, z = full, self.expr(dtype, shape, depth), self.expr(dtype, shape, depth)
            return rng.choice([f"({x} * {y} + {z})", f"({z} - {x} * {y})", f"({x} * {y} - {z})"])
        if kind == 5:
            return f"ct.{rng.choice(['minimum', 'maximum'])}({a} * {b}, {self.constant(dtype)})"
        if kind == 6:
            return f"ct.{rng.choice(['minimum', 'maximum'])}({a}, {b})"
        if kind == 7:
            return f"ct.where({self.expr('bool_', self.narrower(shape), depth)}, {self.expr(dtype, shape, depth)}, {b})"
        if kind == 8:
            return f"ct.{rng.choice(['sqrt', 'floor', 'ceil'])}({self.expr(dtype, shape, depth)})"
        if kind == 9:
            return f"{rng.choice(['(-', 'abs('])}{self.expr(dtype, shape, depth)})"
        return self.cast(dtype, shape, depth)

    def boolean(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        kind = rng.randrange(5)
        if kind < 3:
            a, b = self.pair(rng.choice(self.dtypes), shape, depth)
            return f"({a} {rng.choice('< <= > >= == !='.split())} {b})"
        if kind == 3:
            a, b = self.pair("bool_", shape, depth)
            return rng.choice([f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})"])
        return f"ct.isnan({self.expr('float32', shape, depth)})"

    def moved(self, dtype: str, shape: Shape, depth: int) -> str:
        """Elements from elsewhere: other shapes, reductions, gathers, products. "" where the draw does not fit."""
        makers: list[Callable[[str, Shape, int], str]] = [
            self.reshaped, self.permuted, self.reduced, self.extracted, self.joined, self.gathered, self.scanned,
            self.product, self.position]
        return self.rng.choice(makers)(dtype, shape, depth)

    def reshaped(self, dtype: str, shape: Shape, depth: int) -> str:
        other = [s for s in self.shapes if size_of(s) == size_of(shape)]
        flat = (size_of(shape),)
        return f"{self.expr(dtype, self.rng.choice([flat, *other]), depth)}.reshape({shape})"

    def permuted(self, dtype: str, shape: Shape, depth: int) -> str:
        if len(shape) < 2:
            return ""
        axes = self.rng.sample(range(len(shape)), len(shape))
        source = [0] * len(shape)
        for k, axis in enumerate(axes):
            source[axis] = shape[k]
        return f"{self.expr(dtype, tuple(source), depth)}.permute({tuple(axes)})"

    def reduced(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype == "bool_" or size_of(shape) > 32 or len(shape) > 2:
            return ""
        axis = self.rng.randrange(len(shape) + 1)
        source = (*shape[:axis], self.rng.choice([1, 2, 8]), *shape[axis:])
        names = ["max", "min"] if dtype in FLOATS else ["sum", "max", "min"]
        return f"ct.{self.rng.choice(names)}({self.expr(dtype, source, depth)}, {axis})"

    def position(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype != "int32" or size_of(shape) > 32 or len(shape) > 2:
            return ""
        axis = self.rng.randrange(len(shape) + 1)
        source = (*shape[:axis], self.rng.choice([2, 8]), *shape[axis:])
        return f"ct.argmax({self.expr(self.rng.choice(self.dtypes), source, depth)}, {axis})"

    def extracted(self, dtype: str, shape: Shape, depth: int) -> str:
        if not shape or size_of(shape) > 128:
            return ""
        axis = self.rng.randrange(len(shape))
        source = tuple(2 * n if k == axis else n for k, n in enumerate(shape))
        index = tuple(self.rng.randrange(2) if k == axis else 0 for k in range(len(shape)))
        return f"{self.expr(dtype, source, depth)}.extract({index}, {shape})"

    def joined(self, dtype: str, shape: Shape, depth: int) -> str:
        axes = [k for k, n in enumerate(shape) if n > 1]
        if not axes:
            return ""
        axis = self.rng.choice(axes)
        half = tuple(n // 2 if k == axis else n for k, n in enumerate(shape))
        return f"ct.cat(({self.expr(dtype, half, depth)}, {self.expr(dtype, half, depth)}), {axis})"

    def gathered(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype not in self.dtypes or not shape:
            return ""
        mask = f", mask={self.expr('bool_', shape, depth)}" if self.rng.random() < 0.4 else ""
        padding = f", padding_value={self.expr(dtype, (), 1)}" if self.rng.random() < 0.4 else ""
        if self.rng.random() < 0.4:
            indices = f"({self.expr('int32', shape, depth)} % 9, {self.expr('int32', self.narrower(shape), depth)})"
            return f"ct.gather(z_{dtype}, {indices}{mask}{padding})"
        return f"ct.gather(x_{dtype}, {self.expr('int32', shape, depth)}{mask}{padding})"

    def scanned(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype not in INTS or not shape:
            return ""
        return f"ct.cumsum({self.expr(dtype, shape, depth)}, {self.rng.randrange(len(shape))})"

    def product(self, dtype: str, shape: Shape, depth: int) -> str:
        """A matrix product of small integers, which is exact in any order."""
        if len(shape) != 2 or dtype not in ("int32", "float32"):
            return ""
        k = self.rng.choice([1, 4, 16, 32])
        m, n = shape
        if dtype == "int32":
            names = [self.rng.choice(["int8", "uint8"]) for _ in range(2)]
            x, y = (f"{self.expr('int32', s, depth)}.astype(ct.{name})"
                    for s, name in zip(((m, k), (k, n)), names, strict=True))
            return f"ct.mma({x}, {y}, {self.expr('int32', shape, depth)})"
        name = self.rng.choice(["float16", "bfloat16", "float32"])
        x, y, acc = (f"({self.expr('int32', s, depth)} % 8)" for s in ((m, k), (k, n), shape))
        return f"ct.mma({x}.astype(ct.{name}), {y}.astype(ct.{name}), {acc}.astype(ct.float32))"


class Generator(Expressions):
    """Statements: assignments, stores, branches and loops."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed = seed
        self.left = 0
        self.stores = dict.fromkeys(self.dtypes, 0)

    def program(self, statements: int) -> Program:
        body: list[Node] = []
        self.left = statements
        while self.left > 0:
            body += self.statement(0, set())
        for variable in self.variables:
            body += self.kept(variable)
        return Program(self.seed, (self.grid,), self.parameters(), body)

    def parameters(self) -> list[Parameter]:
        out = [Parameter("n", "int32"), Parameter("f", "float32"), Parameter("xs", "int32", (self.length,), 3),
               Parameter("s", "int32", (self.grid, 64), output=True), Parameter("a", "int32", (16,), output=True)]
        for dtype in self.dtypes:
            slots = max(1, self.stores[dtype])
            out += [Parameter(f"x_{dtype}", dtype, (self.length,)),
                    Parameter(f"z_{dtype}", dtype, (self.rows, self.columns)),
                    Parameter(f"o_{dtype}", dtype, (self.grid, slots * SLOT), output=True)]
        return out

    def type(self) -> tuple[str, Shape]:
        return self.rng.choice(self.dtypes), self.rng.choice(self.shapes)

    def statement(self, depth: int, inside: set[str]) -> list[Node]:
        self.left -= 1
        kind = self.rng.random()
        if kind < 0.4 or not self.variables:
            return self.defined(depth)
        if kind < 0.55:
            variable = self.rng.choice(self.variables)
            return [Node(f"{variable.name} = {self.expr(variable.dtype, variable.shape)}")]
        if kind < 0.65:
            return self.kept(self.rng.choice(self.variables))
        if kind < 0.72:
            return [self.effect()]
        if depth >= 3:
            return self.defined(depth)
        return self.rng.choice([self.branch, self.counted, self.repeated])(depth, inside)

    def defined(self, depth: int) -> list[Node]:
        dtype, shape = self.type()
        text = self.expr(dtype, shape)
        self.names += 1
        variable = Variable(f"v{self.names}", dtype, shape)
        self.variables.append(variable)
        return [Node(f"{variable.name} = {text}")]

    def kept(self, variable: Variable) -> list[Node]:
        slot, size = self.stores[variable.dtype], size_of(variable.shape)
        if size > SLOT:
            return []
        self.stores[variable.dtype] += 1
        place = f"(ct.bid(0), {slot * SLOT // size})"
        return [Node(f"ct.store(o_{variable.dtype}, {place}, {variable.name}.reshape((1, {size})))")]

    def effect(self) -> Node:
        """A scatter to places of the block's own, or an atomic operation whose order does not show."""
        n = self.rng.choice([4, 16, 64])
        value = self.expr("int32", (n,), 2)
        if self.rng.random() < 0.5:
            mask = f", mask={self.expr('bool_', (n,), 2)}" if self.rng.random() < 0.5 else ""
            step = self.rng.choice([1, 3, 5])
            return Node(f"ct.scatter(s, (ct.bid(0), ct.arange({n}, dtype=ct.int32) * {step}), {value}{mask})")
        word = self.word
        return Node(f"ct.atomic_{word}(a, {self.expr('int32', (n,), 1)}, {value})")

    @property
    def word(self) -> str:
        """One operation for a program: different ones on one element do not commute."""
        return ("add", "xor", "max")[self.seed % 3]

    def block(self, depth: int, inside: set[str]) -> list[Node]:
        outside = list(self.variables)
        body: list[Node] = []
        for _ in range(self.rng.randint(1, 3)):
            body += self.statement(depth + 1, inside)
        self.variables = outside
        return body

    def condition(self) -> str:
        return self.expr("bool_", (), 2)

    def leaving(self, inside: set[str]) -> list[Node]:
        """Perhaps a jump under a condition."""
        words = [w for w in ("break", "continue") if inside] + ["return"] * ("for" not in inside)
        if self.rng.random() > 0.35:
            return []
        return [Node(f"if {self.condition()}:", [Node(self.rng.choice(words))])]

    def branch(self, depth: int, inside: set[str]) -> list[Node]:
        nodes = [Node(f"if {self.condition()}:", self.block(depth, inside))]
        if self.rng.random() < 0.5:
            nodes.append(Node("else:", self.block(depth, inside)))
        return nodes + self.leaving(inside)

    def counted(self, depth: int, inside: set[str]) -> list[Node]:
        self.names += 1
        name = f"i{self.names}"
        bounds = self.rng.choice(["3", "1, 6, 2", "n", "0", "ct.bid(0)", "5, 2", "n, n + 2"])
        outside = list(self.variables)
        self.variables.append(Variable(name, "int32", ()))
        loop = inside | {"for"}
        body = self.leaving(loop) + self.block(depth, loop) + self.leaving(loop)
        self.variables = outside
        body = [node for node in body if not node.text.startswith(f"{name} =")]
        return [Node(f"for {name} in range({bounds}):", body)]

    def repeated(self, depth: int, inside: set[str]) -> list[Node]:
        self.names += 1
        name = f"c{self.names}"
        loop = inside | {"while"}
        body = [Node(f"{name} = {name} + 1"), *self.leaving(loop), *self.block(depth, loop), *self.leaving(loop)]
        more = self.rng.choice([f"{name} < 3", f"({name} < 2) & {self.condition()}"])
        return [Node(f"{name} = ct.int32(0)"), Node(f"while {more}:", body)]
