"""Random expressions whose elements come from elsewhere: from memory, other shapes, reductions, orders, products."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.expressions import FLOATS, INTS, Expressions, Shape, size_of

Maker = Callable[[str, Shape, int], str]
WORDS = {"^": "0", "|": "0", "&": "-1"}  # associative functions of integers that are no builtin, with their identities


class Movement(Expressions):
    """Each maker gives an expression of the dtype and shape, or "" where they do not fit it."""

    def moved(self, dtype: str, shape: Shape, depth: int) -> str:
        makers: list[Maker] = [
            self.reshaped, self.permuted, self.reduced, self.extracted, self.joined, self.gathered, self.scanned,
            self.product, self.position, self.placed, self.ordered, self.inserted, self.counted_bins, self.drawn,
            self.rows_of]
        return self.rng.choice(makers)(dtype, shape, depth)

    # --- memory ------------------------------------------------------------------------------------------------------

    def padding(self, dtype: str) -> str:
        names = ["ZERO", "NEG_INF", "POS_INF", "NAN", "NEG_ZERO"] if dtype in FLOATS else ["ZERO"]
        return f"padding_mode=ct.PaddingMode.{self.rng.choice(names)}"

    def load(self, dtype: str, shape: Shape) -> str:
        rng = self.rng
        if not shape:
            return f"ct.load(x_{dtype}, {rng.randrange(max(1, self.length))}, ())" if self.length else f"ct.{dtype}(1)"
        if len(shape) == 2 and rng.random() < 0.8:
            return self.load_plane(dtype, shape)
        if dtype == "int32" and rng.random() < 0.15 and size_of(shape) <= 64:
            n = size_of(shape)
            return f"ct.load({rng.choice('pq')}, (ct.bid(0), {rng.randrange(64 // n)}), (1, {n})).reshape({shape})"
        size = size_of(shape)
        tiles = max(1, -(-self.length // size))
        index = rng.choice([str(rng.randrange(tiles)), f"ct.bid(0) % {tiles}", f"n % {tiles}"])
        source = f"x_{dtype}"
        if rng.random() < 0.2 and dtype == "int32":
            source = f"xs[{rng.choice(['0', '1', '2', 'n % 3', 'ct.bid(0) % len(xs)'])}]"
        if rng.random() < 0.2 and self.length:
            start = rng.randrange(self.length)
            stop = rng.randint(start + 1, self.length)
            source, index = f"{source}.slice(0, {start}, {stop})", "0"
        text = f"ct.load({source}, {index}, {size}, {self.padding(dtype)})"
        if rng.random() < 0.2:
            text = f"{source}.tiled_view({size}, {self.padding(dtype)}).load({index})"
        return text if shape == (size,) else f"{text}.reshape({shape})"

    def load_plane(self, dtype: str, shape: Shape) -> str:
        """From the array with two axes, which may be transposed, sliced, or seen as a view whose tiles overlap."""
        rng, extents, source = self.rng, [self.rows, self.columns], f"z_{dtype}"
        if rng.random() < 0.2:
            axis = rng.randrange(2)
            start = rng.randrange(extents[axis])
            extents[axis] = rng.randint(1, extents[axis] - start)
            source = f"{source}.slice({axis}, {start}, {start + extents[axis]})"
        if rng.random() < 0.2:
            steps = [rng.choice([s, max(1, s // 2), 2 * s]) for s in shape]
            index = tuple(rng.randrange(-(-n // s)) for n, s in zip(extents, steps, strict=True))
            view = f"{source}.tiled_view({shape}, {self.padding(dtype)}, traversal_steps=({steps[0]}, {steps[1]}))"
            return f"{view}.load({index})"
        order = rng.choice(["C", "C", "F", (1, 0)])
        across = extents if order == "C" else extents[::-1]
        index = tuple(rng.randrange(-(-n // s)) for n, s in zip(across, shape, strict=True))
        how = "" if order == "C" else f", order={order!r}"
        return f"ct.load({source}, {index}, {shape}{how}, {self.padding(dtype)})"

    def gathered(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype not in (*self.dtypes, "bool_") or not shape:
            return ""
        mask = f", mask={self.expr('bool_', shape, depth)}" if self.rng.random() < 0.4 else ""
        padding = f", padding_value={self.expr(dtype, (), 1)}" if self.rng.random() < 0.4 or dtype == "bool_" else ""
        index = self.rng.choice([d for d in self.dtypes if d in INTS])
        if self.rng.random() < 0.4:
            indices = f"({self.expr(index, shape, depth)} % 9, {self.expr('int32', self.narrower(shape), depth)})"
            return f"ct.gather(z_{dtype}, {indices}{mask}{padding})"
        wrapped = self.rng.choice(["", " % 20", f" % {min(max(1, self.length), 100)}"])
        return f"ct.gather(x_{dtype}, {self.expr(index, shape, depth)}{wrapped}{mask}{padding})"

    def rows_of(self, dtype: str, shape: Shape, depth: int) -> str:
        """Rows, or columns, of an array by their numbers."""
        if len(shape) != 2 or dtype not in self.dtypes:
            return ""
        axis = self.rng.randrange(2)
        numbers = f"({self.expr('int32', (shape[axis],), depth)} % {self.rng.choice([3, 9, 40])})"
        indices = [f"ct.Slice({self.rng.randrange(20)}, {shape[1 - axis]})"]
        indices.insert(axis, numbers)
        return f"ct.load_advanced_indexing(z_{dtype}, ({', '.join(indices)}), {self.padding(dtype)})"

    # --- shapes ------------------------------------------------------------------------------------------------------

    def reshaped(self, dtype: str, shape: Shape, depth: int) -> str:
        if shape and self.rng.random() < 0.3:
            source = tuple(1 if self.rng.random() < 0.5 else n for n in shape)
            return f"ct.broadcast_to({self.expr(dtype, source, depth)}, {shape})"
        if shape and shape[0] == 1 and self.rng.random() < 0.4:
            return f"{self.expr(dtype, shape[1:], depth)}[None]"
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

    def extracted(self, dtype: str, shape: Shape, depth: int) -> str:
        if not shape or size_of(shape) > 128:
            return ""
        axis = self.rng.randrange(len(shape))
        source = tuple(2 * n if k == axis else n for k, n in enumerate(shape))
        run_time = self.rng.choice(["n % 2", "ct.bid(0) % 2", "0", "1"])
        index = ", ".join(run_time if k == axis else "0" for k in range(len(shape)))
        return f"{self.expr(dtype, source, depth)}.extract(({index},), {shape})"

    def inserted(self, dtype: str, shape: Shape, depth: int) -> str:
        if not shape or size_of(shape) < 2:
            return ""
        part = tuple(max(1, n // self.rng.choice([1, 2])) for n in shape)
        index = tuple(self.rng.randrange(n // m) for n, m in zip(shape, part, strict=True))
        return f"ct.insert({self.expr(dtype, shape, depth)}, {index}, {self.expr(dtype, part, depth)})"

    def joined(self, dtype: str, shape: Shape, depth: int) -> str:
        axes = [k for k, n in enumerate(shape) if n > 1]
        if not axes:
            return ""
        axis = self.rng.choice(axes)
        if shape[-1] > 1 and self.rng.random() < 0.4:
            half = (*shape[:-1], shape[-1] // 2)
            x, y = self.expr(dtype, half, depth), self.expr(dtype, half, depth)
            if shape[-1] == 2 and self.rng.random() < 0.5:
                return f"ct.join({x}.reshape({shape[:-1]}), {y}.reshape({shape[:-1]}))"
            return f"ct.interleave({x}, {y})"
        half = tuple(n // 2 if k == axis else n for k, n in enumerate(shape))
        return f"ct.cat(({self.expr(dtype, half, depth)}, {self.expr(dtype, half, depth)}), {axis})"

    def placed(self, dtype: str, shape: Shape, depth: int) -> str:
        """Elements of a tile at other places of an axis."""
        if not shape:
            return ""
        rng, axis = self.rng, self.rng.randrange(len(shape))
        kind = rng.randrange(4)
        if kind == 0:
            return f"ct.flip({self.expr(dtype, shape, depth)}, {axis})"
        if kind == 1:
            shift = rng.choice(["1", "-1", "3", "n", "ct.bid(0)", "5 - n"])
            return f"ct.roll({self.expr(dtype, shape, depth)}, {shift}, {axis})"
        if kind == 2 and shape[-1:] != (2,) and size_of(shape) <= 128:
            return f"ct.split({self.expr(dtype, (*shape, 2), depth)})[{rng.randrange(2)}]"
        source = tuple(rng.choice([1, 4, n]) if k == axis else n for k, n in enumerate(shape))
        index = rng.choice([(shape[axis],), shape, tuple(n if k == axis else 1 for k, n in enumerate(shape))])
        name = rng.choice([d for d in self.dtypes if d in INTS])
        return f"ct.take({self.expr(dtype, source, depth)}, {self.expr(name, index, depth)}, {axis})"

    def ordered(self, dtype: str, shape: Shape, depth: int) -> str:
        """Sorted along an axis, or the places that the elements had."""
        if not shape or size_of(shape) > 64 or dtype == "bool_":
            return ""
        rng, axis = self.rng, self.rng.randrange(len(shape))
        order = rng.choice(["", ", descending=True"])
        if dtype == "int32" and rng.random() < 0.5:
            narrow = [d for d in self.dtypes if "64" not in d]
            return f"ct.argsort({self.expr(rng.choice(narrow), shape, depth)}, {axis}{order})"
        if "64" not in dtype and rng.random() < 0.4:
            source = tuple(n * rng.choice([1, 2]) if k == axis else n for k, n in enumerate(shape))
            which = rng.choice(["", ", largest=False"])
            return f"ct.topk({self.expr(dtype, source, depth)}, {shape[axis]}, {axis}{which})[0]"
        return f"ct.sort({self.expr(dtype, shape, depth)}, {axis}{order})"

    def counted_bins(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype != "int32" or len(shape) != 1 or shape[0] > 64:
            return ""
        source = self.rng.choice([s for s in self.shapes if s and size_of(s) <= 64] or [(8,)])
        return f"ct.histogram({self.expr(self.rng.choice([d for d in self.dtypes if d in INTS]), source, depth)}, " \
               f"{shape[0]})"

    def drawn(self, dtype: str, shape: Shape, depth: int) -> str:
        """Random numbers, whose bits are the same everywhere. They are many operations, hence few."""
        if self.rng.random() < 0.6:
            return ""
        seed, sequence = self.rng.choice(["7", "n", "-1", "ct.uint64(1 << 40)"]), self.expr("int32", shape, depth)
        offset = self.rng.choice(["0", "3", "n", "ct.bid(0) * 4 + 1"])
        kind = {"uint32": "bits", "int32": "randint", "float32": "uniform"}.get(dtype)
        bounds = self.rng.choice([", high=6", ", low=-3, high=100"]) if kind == "randint" else ""
        return f"ct.random.{kind}({seed}, {sequence}, {offset}{bounds})" if kind else ""

    # --- reductions and products -------------------------------------------------------------------------------------

    def reduced(self, dtype: str, shape: Shape, depth: int) -> str:
        if size_of(shape) > 32 or len(shape) > 2:
            return ""
        rng, axis = self.rng, self.rng.randrange(len(shape) + 1)
        source = (*shape[:axis], rng.choice([1, 2, 8]), *shape[axis:])
        axes, keeps = str(axis), ""
        if not shape and rng.random() < 0.5:
            source, axes = rng.choice(self.shapes[1:]), "None"
        elif rng.random() < 0.3:
            source, axes = (*source, 2), f"({axis}, {len(source)})"
        if rng.random() < 0.2:
            keeps = f", keepdims=True).reshape({shape}"
        if dtype == "bool_":
            what = self.expr(rng.choice(["bool_", *self.dtypes]), source, depth)
            return f"ct.{rng.choice(['any', 'all'])}({what}, {axes}{keeps})"
        if axes == str(axis) and dtype in INTS and rng.random() < 0.25:
            word = rng.choice([w for w in WORDS if w != "&" or dtype[0] == "i"])
            what = f"lambda s, t: s {word} t, {WORDS[word]}"
            return f"ct.reduce({self.expr(dtype, source, depth)}, {axis}, {what}{keeps})"
        names = ["max", "min"] if dtype in FLOATS else ["sum", "max", "min", "prod"]
        nan = ", propagate_nan=True" if dtype in FLOATS and rng.random() < 0.3 else ""
        return f"ct.{rng.choice(names)}({self.expr(dtype, source, depth)}, {axes}{nan}{keeps})"

    def position(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype != "int32" or size_of(shape) > 32 or len(shape) > 2:
            return ""
        axis = self.rng.randrange(len(shape) + 1)
        source = (*shape[:axis], self.rng.choice([2, 8]), *shape[axis:])
        text = self.expr(self.rng.choice(self.dtypes), source, depth)
        return f"ct.{self.rng.choice(['argmax', 'argmin'])}({text}, {axis if shape else self.rng.choice([0, None])})"

    def scanned(self, dtype: str, shape: Shape, depth: int) -> str:
        if dtype not in INTS or not shape:
            return ""
        rng, axis = self.rng, self.rng.randrange(len(shape))
        how = rng.choice(["", "", ", reverse=True"])
        if rng.random() < 0.3:
            word = rng.choice([w for w in WORDS if w != "&" or dtype[0] == "i"])
            what = f"lambda s, t: s {word} t, {WORDS[word]}"
            return f"ct.scan({self.expr(dtype, shape, depth)}, {axis}, {what}{how})"
        return f"ct.{rng.choice(['cumsum', 'cumsum', 'cumprod'])}({self.expr(dtype, shape, depth)}, {axis}{how})"

    def product(self, dtype: str, shape: Shape, depth: int) -> str:
        """A matrix product of small integers, which is exact in any order."""
        if len(shape) != 2 or dtype not in ("int32", "float32", "float64", "float16"):
            return ""
        k = self.rng.choice([1, 4, 8, 16, 32])
        m, n = shape
        if dtype == "int32":
            names = [self.rng.choice(["int8", "uint8"]) for _ in range(2)]
            x, y = (f"{self.expr('int32', s, depth)}.astype(ct.{name})"
                    for s, name in zip(((m, k), (k, n)), names, strict=True))
            return f"ct.mma({x}, {y}, {self.expr('int32', shape, depth)})"
        inputs = {"float64": ["float64"], "float16": ["float16", "float8_e4m3fn", "float8_e5m2"]}.get(
            dtype, ["float16", "bfloat16", "float32", "tfloat32", "float8_e4m3fn", "float8_e5m2"])
        name = self.rng.choice(inputs)
        batch = self.rng.choice([(), (), (), (2,)])
        x, y, acc = (f"({self.expr('int32', (*b, *s), depth)} % 4)"
                     for b, s in ((batch, (m, k)), (batch[:0], (k, n)), (batch, shape)))
        text = f"ct.mma({x}.astype(ct.{name}), {y}.astype(ct.{name}){'[None]' * len(batch)}, {acc}.astype(ct.{dtype}))"
        return f"ct.max({text}, 0)" if batch else text
