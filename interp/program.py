"""A compiled function: binds arguments, cuts the grid into chunks, and runs the closures over them."""

from __future__ import annotations

import functools
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tilewright.interp import (
    handlers,  # noqa: F401  (fills the table of handlers)
    threads,
)
from tilewright.interp.arrays import ArrayRef, bind_array, byte_range, quoted
from tilewright.interp.blas import one_thread
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.formats import constant
from tilewright.interp.hazards import ends, find_hazards
from tilewright.interp.jit import POLICY
from tilewright.interp.liveness import peak_bytes
from tilewright.interp.lowering import Lowering
from tilewright.interp.memory import PLAIN
from tilewright.interp.options import DEFAULT, ExecutionOptions
from tilewright.interp.progress import progress
from tilewright.interp.rectangles import Thin, rectangles, sides, thin_values
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.ops import matmul
from tilewright.tileir.tensor_cores import TensorCores
from tilewright.tileir.types import ArrayType, ListType, TileType

Grid = tuple[int, int, int]
Pair = tuple[int, int]

FEW = 1 << 14
KEPT = 16
"""Chunks of so many grids are kept, of grids of at most so many blocks."""

# Machine ops by which CTAs of a cluster give each other values.
EXCHANGES = ("cluster_gather", "cluster_exchange")


class Variant:
    """The closures for one way of cutting the grid; once they have run for a while, those that `loops` makes."""

    def __init__(self, lowering: Lowering, loops: Callable[[], Lowering] | None) -> None:
        self.lowering = lowering
        self._loops = loops if POLICY.enabled else None
        self._spent = 0.0
        self.ran(0.0)

    def ran(self, seconds: float) -> None:
        """A chunk took so long."""
        if self._loops is not None:
            self._spent += seconds
            if self._spent >= POLICY.seconds:
                loops, self._loops = self._loops, None
                self.lowering = loops()


class Frozen(NamedTuple):
    """The chunks of a launch over a grid, kept for the next one, while the closures and their `peak` are the same."""

    variant: Variant
    lowering: Lowering
    peak: int | None
    chunks: list[Chunk]


class Program:
    """A function ready to run. Closures for each way of cutting the grid are made at first use and kept.

    `loops`: may machine code stand for closures? Not where each op is to be seen. `serial`: must blocks run one after
    another, whatever the kernel is?
    """

    loops: ClassVar[bool] = True
    serial: ClassVar[bool] = False

    def __init__(self, function: Function, numerics: TensorCores | None = None) -> None:
        self.function = function
        self.numerics = numerics
        self.dependences = Dependences(function)
        self.hazards = find_hazards(function, self.dependences)
        self._peak = max(peak_bytes(function), 1)
        self._variants: dict[tuple[frozenset[int], bool, frozenset[str], Pair | None], Variant] = {}
        self._thin: dict[Pair, Thin] = {}
        self._frozen: dict[Any, Frozen] = {}
        # Blocks of a cluster that exchange values run together.
        self.together = function.plan.cluster if any(op.opcode in EXCHANGES for op in function.walk()) else 1
        may_form = self.loops and self.hazards.axes is None and self.together == 1
        self._products = may_form and any(isinstance(op, matmul.Mma) for op in function.walk())
        self._multiplies = any("mma" in op.opcode for op in function.walk())
        self._ends = ends(function)

    def run(self, grid: Grid, args: Sequence[Any], options: ExecutionOptions = DEFAULT) -> None:
        """Execute every block of the grid; arrays in `args` are written in place.

        `args` has one entry per parameter: NumPy arrays, Python or NumPy scalars, lists of arrays.
        """
        with np.errstate(all="ignore"):
            bound = self.bound(args)
            self._execute(grid, bound, options, self._overlaps(bound))

    def run_apart(self, grid: Grid, bound: list[Any]) -> None:
        """The same with the values of registers, of which no two arrays share memory."""
        with np.errstate(all="ignore"):
            self._execute(grid, bound, DEFAULT, False)

    def _execute(self, grid: Grid, bound: list[Any], options: ExecutionOptions, overlapping: bool) -> None:
        if not self._multiplies:
            self._run(grid, bound, options, overlapping)
            return
        with one_thread():
            self._run(grid, bound, options, overlapping)

    def _run(self, grid: Grid, bound: list[Any], options: ExecutionOptions, overlapping: bool) -> None:
        grid = (grid[0] * self.function.plan.cluster, *grid[1:])
        options.memory.begin(self.function, grid, bound)
        if 0 not in grid:
            # Blocks that share memory in ways that the IR does not show run one after another.
            watched = self.hazards.lone and not options.memory.side_by_side()
            single = options.single or self.serial or self.hazards.serial or overlapping or watched
            variant, chunks = self._cut_up(grid, bound, options, overlapping, single)
            alone = single or self.together > 1 or options.memory is not PLAIN
            self._work(grid, bound, variant, chunks, 1 if alone else options.threads or threads.wanted())
        options.memory.end()

    def _cut_up(
        self, grid: Grid, bound: list[Any], options: ExecutionOptions, overlapping: bool, single: bool
    ) -> tuple[Variant, Iterable[Chunk]]:
        """The closures, and the chunks that they run over."""
        ends = [bound[position].extents[axis] for _, position, axis, _, _ in self._ends]
        key = (grid, overlapping, *ends)
        known = self._frozen.get(key) if options is DEFAULT else None
        if known is not None and known.variant.lowering is known.lowering and known.lowering.peak == known.peak:
            return known.variant, known.chunks
        pair = None if single else self._pair(grid, options)
        axes = self._axes(grid, single, options) if pair is None else frozenset(pair)
        variant = self._variant(axes, overlapping, options.memory.checks, pair)
        if pair is None:
            cuts = self._chunks(grid, axes, single, options, variant, bound)
        else:
            cuts = rectangles(grid, pair, 2 * self._limit(options))
        chunks: Iterable[Chunk] = (Chunk(count, ids, grid, options, *more) for count, ids, *more in cuts)
        if options is DEFAULT and grid[0] * grid[1] * grid[2] <= FEW and not single:
            chunks = list(chunks)
            if len(self._frozen) >= KEPT:
                self._frozen.clear()
            self._frozen[key] = Frozen(variant, variant.lowering, variant.lowering.peak, chunks)
        return variant, chunks

    def _work(
        self, grid: Grid, bound: list[Any], variant: Variant, chunks: Iterable[Chunk], most: int,
    ) -> None:
        """Execute the chunks, on at most so many threads."""
        blocks = grid[0] * grid[1] * grid[2]
        one = isinstance(chunks, list) and len(chunks) == 1
        shown = None if one or self.serial else progress(self.function.name, blocks)

        def work(chunk: Chunk) -> None:
            start = time.perf_counter()
            lowering = variant.lowering
            regs: Regs = [None] * lowering.slots
            for slot, value in zip(lowering.params, bound, strict=True):
                regs[slot] = value
            regs[0] = chunk
            lowering.run(regs)
            variant.ran(time.perf_counter() - start)
            if shown is not None:
                shown.ran(chunk.count)

        try:
            if most > 1 and not one:
                threads.spread(chunks, work, blocks, most, lambda: threads.independent(self.function, grid, bound))
            else:
                for chunk in chunks:
                    work(chunk)
        finally:
            if shown is not None:
                shown.end()

    def _variant(
        self, axes: frozenset[int], overlapping: bool, checks: frozenset[str], pair: Pair | None
    ) -> Variant:
        key = (axes, overlapping, checks, pair)
        found = self._variants.get(key)
        if found is None:
            copied = self.hazards.accessed if overlapping else self.hazards.copied
            thin = {} if pair is None else self._thin_of(pair)
            loops = functools.partial(self._lower_with_loops, axes, copied, checks, thin)
            closures = self._lower(axes, copied, checks, thin)
            found = self._variants[key] = Variant(
                closures, loops if self.loops and checks.isdisjoint(("numerics", "cancellation")) else None)
        return found

    def _lower(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        if not checks:
            return Lowering(self.function, axes, copied, self.dependences, thin, self.numerics)
        from tilewright.interp.checking.lowering import CheckedLowering

        return CheckedLowering(self.function, axes, copied, self.dependences, checks, thin)

    def _lower_with_loops(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        if checks:
            from tilewright.interp.checking.lowering import CheckedLoops

            return CheckedLoops(self.function, axes, copied, self.dependences, checks, thin)
        from tilewright.interp.jit.lowering import LoopLowering

        return LoopLowering(self.function, axes, copied, self.dependences, thin, self.numerics)

    def _thin_of(self, pair: Pair) -> Thin:
        """The thin values of rectangles along two axes."""
        found = self._thin.get(pair)
        if found is None:
            found = self._thin[pair] = thin_values(self.function, pair, self.hazards.copied, self.dependences)
        return found

    def _pair(self, grid: Grid, options: ExecutionOptions) -> Pair | None:
        """The axes along which rectangles of blocks are better chunks. They may be larger, as blocks share operands.
        Other memories may want to see the accesses of each block."""
        if not self._products or grid.count(1) > 1:
            return None
        for pair in itertools.permutations((0, 1, 2), 2):
            length, width = sides(grid, pair, 2 * self._limit(options))
            if min(length, width) > 1 and length * width >= 8:
                thin = self._thin_of(pair)
                if thin and options.memory.rectangles(thin):
                    return pair
        return None

    def _limit(self, options: ExecutionOptions, peak: int | None = None) -> int:
        """Blocks of a chunk."""
        return max(1, min(options.chunk_blocks, options.chunk_bytes // (self._peak if peak is None else max(peak, 1))))

    def bound(self, args: Sequence[Any]) -> list[Any]:
        """The values of the parameters' registers."""
        params = self.function.params
        if len(args) != len(params):
            raise TileTypeError(f"{self.function.name} takes {len(params)} arguments, got {len(args)}")
        return [bind(p, a, i) for i, (p, a) in enumerate(zip(params, args, strict=True))]

    def _overlaps(self, bound: list[Any]) -> bool:
        """Does memory that the function writes overlap another argument that it touches?"""
        written: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        for position in self.hazards.accessed:
            value = bound[position]
            items = value if isinstance(value, list) else [value]
            ranges = [byte_range(r) for r in items]
            (written if position in self.hazards.written else others).extend(ranges)
        return any(
            low < b and a < high
            for i, (low, high) in enumerate(written) for a, b in written[i + 1 :] + others
        )

    def _axes(self, grid: Grid, single: bool, options: ExecutionOptions) -> frozenset[int]:
        """The grid axes over which a chunk spreads."""
        if self.together > 1:
            return frozenset((0,))
        return frozenset() if single else self._spread(grid, self._limit(options))

    def _chunks(
        self, grid: Grid, axes: frozenset[int], single: bool, options: ExecutionOptions, variant: Variant,
        bound: Sequence[Any],
    ) -> Iterator[tuple[Any, ...]]:
        """The chunks: number of blocks, their places."""
        if self.together > 1:
            return _clusters(grid, self.together, options.order)
        if single:
            return _single_blocks(grid, options.order)
        # The sums of products depend on how many rows are multiplied at once.
        limit = self._limit(options, None if self._multiplies else variant.lowering.peak)
        total = grid[0] * grid[1] * grid[2]
        if total * self._peak >= threads.LARGE:
            limit = min(limit, max(self._limit(options), -(-total // threads.CHUNKS)))
        if len(axes) == 1:
            [axis] = axes
            return _runs(grid, axis, limit, self._cut(grid, axis, bound))
        return _linear(grid, axes, limit) if axes else _single_blocks(grid, None)

    def _cut(self, grid: Grid, axis: int, bound: Sequence[Any]) -> bool:
        """Does the edge of an array cut the tiles of the last blocks along an axis?"""
        for along, position, array_axis, step, length in self._ends:
            if along == axis and (grid[axis] - 1) * step + length > bound[position].extents[array_axis]:
                return True
        return False

    def _spread(self, grid: Grid, limit: int) -> frozenset[int]:
        """The grid axes of chunks: one long axis (its tiles are views), else all of them."""
        allowed = self.hazards.axes
        candidates = [a for a in (0, 1, 2) if allowed is None or a in allowed]
        best = max(candidates, key=lambda a: grid[a])
        total = grid[0] * grid[1] * grid[2]
        if grid[best] == 1 and (total == 1 or allowed is not None):
            return frozenset()
        if allowed is not None or grid[best] == total or grid[best] * 4 >= limit:
            return frozenset((best,))
        return frozenset(a for a in (0, 1, 2) if grid[a] > 1)


def compile_function(function: Function, numerics: TensorCores | None = None) -> Program:
    """Prepare a Tile IR function for execution on NumPy arrays.

    `numerics`: products are those of these tensor cores, bit for bit. The function is then machine IR, which says by
    which instructions.
    """
    return Program(function, numerics)


def bind(param: Value, argument: Any, position: int) -> Any:
    """The register value of a parameter."""
    name = param.hint or f"#{position + 1}"
    type_ = param.type
    if isinstance(type_, ArrayType):
        return bind_array(argument, type_.dtype, type_.rank, name)
    if isinstance(type_, ListType):
        if not isinstance(argument, list | tuple) or not argument:
            raise TileTypeError(f"argument {quoted(name)} must be a non-empty list of arrays")
        return [bind_array(a, type_.element.dtype, type_.element.rank, f"{name}[{k}]") for k, a in enumerate(argument)]
    assert isinstance(type_, TileType) and not type_.shape, f"parameter of type {type_}"
    if isinstance(argument, ArrayRef | str) or np.ndim(argument):
        raise TileTypeError(f"argument {quoted(name)} must be a scalar, not {type(argument).__name__}")
    return constant(argument, type_.dtype)


def _single_blocks(grid: Grid, order: str | int | None) -> Iterator[tuple[int, Any]]:
    total = grid[0] * grid[1] * grid[2]
    numbers: Any = range(total)
    if order == "desc":
        numbers = reversed(numbers)
    elif isinstance(order, int):
        numbers = list(numbers)
        random.Random(order).shuffle(numbers)
    for n in numbers:
        yield 1, (np.int32(n % grid[0]), np.int32(n // grid[0] % grid[1]), np.int32(n // (grid[0] * grid[1])))


def _clusters(grid: Grid, blocks: int, order: str | int | None) -> Iterator[tuple[int, Any]]:
    """One cluster after another, of so many blocks side by side along x."""
    for _, (x, y, z) in _single_blocks((grid[0] // blocks, *grid[1:]), order):
        yield blocks, (np.arange(x * blocks, (x + 1) * blocks, dtype=np.int32), y, z)


def _runs(grid: Grid, axis: int, limit: int, cut: bool) -> Iterator[tuple[int, Any]]:
    """Runs of consecutive blocks along one axis; `cut`: where they are long the last block is alone, as its tiles are
    no views of memory."""
    outer = [range(1) if a == axis else range(grid[a]) for a in (0, 1, 2)]
    total, rest = grid[axis], []
    if cut and min(total, limit) >= 16:
        total, rest = total - 1, [np.arange(total - 1, total, dtype=np.int32)]
    length = _even(total, limit)
    pieces = [np.arange(i, min(i + length, total), dtype=np.int32) for i in range(0, total, length)] + rest
    for z in outer[2]:
        for y in outer[1]:
            for x in outer[0]:
                for piece in pieces:
                    ids: list[Any] = [np.int32(x), np.int32(y), np.int32(z)]
                    ids[axis] = piece
                    yield len(piece), tuple(ids)


def _linear(grid: Grid, axes: frozenset[int], limit: int) -> Iterator[tuple[int, Any]]:
    """Runs of consecutive blocks of the whole grid, the first axis fastest."""
    total = grid[0] * grid[1] * grid[2]
    length = _even(total, limit)
    for i in range(0, total, length):
        n = np.arange(i, min(i + length, total), dtype=np.int64)
        ids = (n % grid[0], n // grid[0] % grid[1], n // (grid[0] * grid[1]))
        yield len(n), tuple(v.astype(np.int32) if a in axes else np.int32(0) for a, v in enumerate(ids))


def _even(total: int, limit: int) -> int:
    """A chunk length within the limit that cuts the total into nearly equal pieces."""
    pieces = -(-total // limit)
    return -(-total // pieces)
