"""Random kernels of matrix products alone: of loaded tiles, of sums in loops, and of products of products.

Their operands have many magnitudes, so that every rounding of the sums shows. The interpreter adds as the tensor cores
of `NUMERICS` do, in which all bits are promised but those of NaNs.
"""

from __future__ import annotations

import random

from fuzz.program import Node, Parameter, Program

NUMERICS = "sm_90a"
SLOT = 4096  # elements of an output for each store
# Operands, with what their products may be added in.
SUMS = {"float16": ["float32", "float32", "float16"], "bfloat16": ["float32"], "tfloat32": ["float32"],
        "float8_e4m3fn": ["float32", "float16"], "float8_e5m2": ["float32", "float16"], "float32": ["float32"],
        "float64": ["float64"], "int8": ["int32"], "uint8": ["int32"]}
SIZES = (1, 2, 4, 8, 16, 16, 32, 64, 64, 128)
DEPTHS = (1, 4, 8, 16, 16, 32, 32, 64)


def generate(seed: int, statements: int | None = None) -> Program:
    return Products(seed).program(1 + seed % 3 if statements is None else statements)


class Products:
    """One pair of dtypes for a program, in some extents that tiles need not divide."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, random.Random(f"products {seed}")
        self.dtype = self.rng.choice(list(SUMS))
        self.sum = self.rng.choice(SUMS[self.dtype])
        self.rows, self.inner, self.columns = (self.rng.choice([1, 7, 16, 33, 64, 100]) for _ in range(3))
        self.grid = self.rng.choice([1, 2, 3])
        self.stores = 0

    def program(self, statements: int) -> Program:
        body = [node for k in range(statements) for node in self.statement(f"v{k}")]
        held = "float32" if self.dtype == "tfloat32" else self.dtype
        parameters = [Parameter("n", "int32"), Parameter("a", held, (self.rows, self.inner), spread=6),
                      Parameter("b", held, (self.inner, self.columns), spread=6),
                      Parameter("c", self.sum, (self.rows, self.columns), spread=3),
                      Parameter("o", self.sum, (self.grid, self.stores * SLOT), output=True)]
        return Program(self.seed, (self.grid,), parameters, body, numerics=NUMERICS)

    def statement(self, name: str) -> list[Node]:
        """A product or a loop of them, and the store of the result."""
        rng, m = self.rng, self.rng.choice(SIZES)
        n = rng.choice([size for size in SIZES if size * m <= SLOT])
        nodes = [Node(f"{name} = {self.added((m, n), 1)}")]
        if rng.random() < 0.4:
            k = rng.choice(DEPTHS)
            times = rng.choice(["3", "n", "ct.bid(0)", f"ct.num_tiles(a, 1, ({m}, {k}))"])
            x, y = self.loaded("a", (m, k), f"(ct.bid(0), i_{name})"), self.loaded("b", (k, n), f"(i_{name}, 0)")
            nodes.append(Node(f"for i_{name} in range({times}):", [Node(f"{name} = {self.mma(x, y, name)}")]))
        nodes.append(Node(f"ct.store(o, (ct.bid(0), {self.stores * SLOT // (m * n)}), {name}.reshape((1, {m * n})))"))
        self.stores += 1
        return nodes

    def mma(self, x: str, y: str, acc: str) -> str:
        fast = ", use_fast_acc=True" if self.dtype.startswith("float8") and self.rng.random() < 0.3 else ""
        return f"ct.mma({x}, {y}, {acc}{fast})"

    def product(self, shape: tuple[int, int], depth: int) -> str:
        k = self.rng.choice(DEPTHS)
        x, y = self.operand("a", (shape[0], k), depth), self.operand("b", (k, shape[1]), depth)
        return self.mma(x, y, self.added(shape, depth - 1))

    def added(self, shape: tuple[int, int], depth: int) -> str:
        """What a sum starts with, or is: zeros, elements of an array, a product."""
        kind = self.rng.random()
        if depth > 0 and kind < 0.8:
            return self.product(shape, depth)
        if kind < 0.5:
            return f"ct.zeros({shape}, ct.{self.sum})"
        return f"ct.load(c, (ct.bid(0), 0), {shape}, padding_mode=ct.PaddingMode.ZERO)"

    def operand(self, name: str, shape: tuple[int, int], depth: int) -> str:
        kind = self.rng.random()
        if depth > 0 and kind < 0.2:
            return f"{self.product(shape, depth - 1)}.astype(ct.{self.dtype})"
        if kind < 0.4:
            return f"{self.operand(self.rng.choice('ab'), shape[::-1], 0)}.permute((1, 0))"
        return self.loaded(name, shape, self.rng.choice(["(ct.bid(0), 0)", "(0, ct.bid(0))", "(0, 0)"]))

    def loaded(self, name: str, shape: tuple[int, int], index: str) -> str:
        order = self.rng.choice(["", "", ", order='F'"])
        text = f"ct.load({name}, {index}, {shape}{order}, padding_mode=ct.PaddingMode.ZERO)"
        return f"{text}.astype(ct.tfloat32)" if self.dtype == "tfloat32" else text
