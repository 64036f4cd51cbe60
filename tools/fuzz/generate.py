"""Random well-typed kernels as Python source: statements around the expressions of `movement` and `expressions`."""

from __future__ import annotations

from fuzz import products
from fuzz.expressions import HELPERS, Shape, Variable, size_of
from fuzz.movement import Movement
from fuzz.program import SLOT, Node, Parameter, Program

ATOMIC = ("int32", "uint32", "int64", "uint64")


KINDS = ("programs", "integers", "products")


def generate(seed: int, statements: int | None = None, kind: str = "programs") -> Program:
    """The program of a seed, of 2 to 8 statements: many small ones find more than few large ones. Of `integers` no
    float is computed; of `products` only matrix products are (products.py)."""
    if kind == "products":
        return products.generate(seed, statements)
    return Generator(seed, kind == "integers").program(2 + seed % 7 if statements is None else statements)


class Generator(Movement):
    """Statements: assignments, stores, branches and loops."""

    def __init__(self, seed: int, integers: bool = False) -> None:
        super().__init__(seed, integers)
        self.seed = seed
        self.left = 0
        # One operation for a program: different ones on one element do not commute.
        self.word = self.rng.choice(["add", "xor", "max", "min", "and", "or"])
        self.float_word = self.rng.choice(["max", "min"])
        self.counter = self.rng.choice(ATOMIC)
        self.stores = dict.fromkeys(self.dtypes, 0)

    def program(self, statements: int) -> Program:
        body: list[Node] = []
        self.left = statements
        while self.left > 0:
            body += self.statement(0, set())
        for variable in self.variables:
            body += self.kept(variable)
        return Program(self.seed, (self.grid,), self.parameters(), body, HELPERS)

    def parameters(self) -> list[Parameter]:
        out = [Parameter("n", "int32"), Parameter("f", "float32"), Parameter("xs", "int32", (self.length,), 3),
               Parameter("s", "int32", (self.grid, 64), output=True), Parameter("a", self.counter, (16,), output=True),
               Parameter("m", "float32", (16,), output=True), Parameter("p", "int32", (self.grid, 64), output=True),
               Parameter("q", "int32", (self.grid, 64), behind="p", by=self.shift)]
        out += [Parameter("x_bool_", "bool_", (self.length,)), Parameter("z_bool_", "bool_", (self.rows, self.columns))]
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
        if kind < 0.71:
            return [self.effect()]
        if kind < 0.74:
            return self.exchanged()
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
        """A write to places of the block's own, or an atomic operation whose order does not show."""
        rng, n = self.rng, self.rng.choice([4, 16, 64])
        value = self.expr("int32", (n,), 2)
        kind = rng.choice([k for k in range(6) if k != 3 or "float32" in self.dtypes])
        if kind < 2:
            mask = f", mask={self.expr('bool_', (n,), 2)}" if rng.random() < 0.5 else ""
            step = rng.choice([1, 3, 5])
            return Node(f"ct.scatter(s, (ct.bid(0), ct.arange({n}, dtype=ct.int32) * {step}), {value}{mask})")
        if kind == 2:
            return Node(f"ct.store(p, (ct.bid(0), {rng.randrange(64 // n)}), {value}.reshape((1, {n})))")
        if kind == 3:
            update = self.expr("float32", (n,), 2)
            return Node(f"ct.atomic_{self.float_word}(m, {self.expr('int32', (n,), 1)}, {update})")
        return Node(f"ct.atomic_{self.word}(a, {self.expr('int32', (n,), 1)}, {self.expr(self.counter, (n,), 2)})")

    def exchanged(self) -> list[Node]:
        """The old elements of an atomic operation on places of the block's own."""
        self.names += 1
        n = self.rng.choice([4, 16])
        variable = Variable(f"v{self.names}", "int32", (n,))
        word = self.rng.choice(["add", "xchg", "max", "min", "and", "or", "xor"])
        where = f"(ct.bid(0), ct.arange({n}, dtype=ct.int32) * {self.rng.choice([1, 2])})"
        text = f"{variable.name} = ct.atomic_{word}(s, {where}, {self.expr('int32', (n,), 2)})"
        self.variables.append(variable)
        return [Node(text)]

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
