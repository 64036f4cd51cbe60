"""What probes have recorded on both sides, and which ops are wrong on what they were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.comparing.bounds import allowed, near, same
from tilewright.comparing.flow import handed, made, sources
from tilewright.comparing.probes import UNWRITTEN, Probe
from tilewright.comparing.sites import Site, Sites
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.types import ArrayType, ListType, TileType

if TYPE_CHECKING:
    from tilewright.interp.debugging.replay import OneOp

Array = Any
Pair = tuple[Array, Array]
MOST_REPLAYS = 400  # visits of one op that are executed again


@dataclass(frozen=True)
class Fault:
    """An op that is wrong: `number` of the side, the visit to `site`, the value that is wrong (None: what a store has
    written), and what it should have been (None: what the other side has). `sure`: the op was executed again."""

    op: Op
    number: int
    site: Site
    visit: int
    value: Value | None = None
    want: Array | None = None
    got: Pair | None = None
    sure: bool = True

    @property
    def moment(self) -> tuple[int, ...]:
        return self.site.moment(self.visit % self.site.slots)


class Records:
    """Values by op on two sides. A *visit* is a block and an iteration of each loop around: block * slots + slot."""

    def __init__(
        self, function: Function, sites: Sites, blocks: int, grid: tuple[int, int, int], initial: Sequence[Any],
        judged: Sequence[int],
    ) -> None:
        """`initial`: the arguments before the launch; `judged`: the sides whose ops are executed again."""
        self.function, self.sites, self.blocks = function, sites, blocks
        self._grid = grid
        self._arrays = dict(zip(function.params, initial, strict=True))
        self.judged = judged
        self.values: dict[Value, Pair] = {}
        self._runs: dict[Value, int] = {}
        self._count = 0
        self.skipped = False
        """Whether there were differences that say nothing, because a side did not come there."""
        self._replays: dict[Op, OneOp | None] = {}
        self._written = _written(function)

    def add(self, probes: Sequence[Probe], arrays: tuple[Sequence[Array], Sequence[Array]]) -> None:
        """Take what probes have got in one run."""
        self._count += 1
        for probe, one, other in zip(probes, *arrays, strict=True):
            if probe.value is not None:
                self._runs[probe.value] = self._count
                shape = (self.blocks * probe.site.slots, *probe.value.type.shape)
                self.values[probe.value] = one.reshape(shape), other.reshape(shape)

    def together(self, values: Sequence[Value]) -> bool:
        """Whether one run has recorded all of these."""
        return len({self._runs.get(value, 0) for value in values}) <= 1

    def differing(self, value: Value) -> Array:
        """The visits at which a value differs."""
        import numpy

        one, other = self.values[value]
        wrong = ~same(one, other)
        return numpy.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))

    def wrong(self, op: Op) -> Fault | None:
        """The first visit at which an op is wrong by itself, None where there is none."""
        differing = [(self.sites.of_value[value], int(visit), value) for value in made(op) if value in self.values
                     for visit in self.differing(value)]
        differing.sort(key=lambda found: found[0].moment(found[1] % found[0].slots))
        for site, visit, value in differing[:MOST_REPLAYS]:
            found = self._judge(op, site, visit, value)
            if found is not None:
                return found
        return None

    def _judge(self, op: Op, site: Site, visit: int, value: Value) -> Fault | None:
        if isinstance(op, For | While | If):
            return self._handed(op, site, visit, value)
        replay = self._replay(op)
        if replay is None:
            inputs = [v for v in op.operands if v in self.values]
            if all(same(*self.operand(v, visit, site)).all() for v in inputs):
                return Fault(op, self.judged[0], site, visit, value, sure=False)
            return None
        for number in self.judged:
            want = self._right(replay, op, number, visit, site, op.results.index(value))
            if want is not None:
                return Fault(op, number, site, visit, value, want)
        return None

    def _handed(self, op: Op, site: Site, visit: int, value: Value) -> Fault | None:
        for number in self.judged:
            got = self.values[value][number][visit]
            want = handed(self, op, value, visit, number)
            if want is None or is_unwritten(want).any():
                self.skipped = True
            elif is_unwritten(got).any():
                if isinstance(op, For) and value is op.loop.params[0] and self._comes(op, site, visit, want, number):
                    return Fault(op, number, site, visit, value, want)
                self.skipped = True
            elif not same(got, want).all():
                return Fault(op, number, site, visit, value, want)
        return None

    def _comes(self, op: For, site: Site, visit: int, at: Array, number: int) -> bool:
        """Whether a loop comes to a value of its variable."""
        upper = self.operand(op.upper, visit, site)[number]
        return bool((at < upper).all()) and not is_unwritten(upper).any()

    def _right(self, replay: OneOp, op: Op, number: int, visit: int, site: Site, k: int) -> Array | None:
        """What an op should have given on one side, None where it did."""
        import numpy

        got = self.values[op.results[k]][number][visit]
        operands = [self.operand(value, visit, site)[number] for value in replay.inputs]
        known = ~is_unwritten(got)
        if not known.any() or any(is_unwritten(x).any() for x in operands):
            self.skipped = True
            return None

        def again(inputs: Sequence[Array], poison: bool = False) -> Array:
            given: Array = replay(inputs, self._arrays, self.place(visit // site.slots), self._grid, poison=poison)[k]
            return given

        want = again(operands)
        right = near(got, want, allowed(op, op.results[k].type.dtype, operands, want, again)) | ~known
        if not right.all() and replay.arrays:
            right |= ~same(want, again(operands, poison=True))  # undetermined padding
        return None if numpy.all(right) else want

    def knows(self, value: Value) -> bool:
        """Whether a tile is recorded, or known without that."""
        return value in self.values or value in self._arrays or isinstance(value.op, Constant)

    def operand(self, value: Value, visit: int, site: Site) -> Pair:
        """A value that is there at a visit to a place inside its own."""
        known = self._constant(value)
        if known is not None:
            return known, known
        own = self.sites.of_value[value]
        block, slot = divmod(visit, site.slots)
        at = block * own.slots + site.outer(slot, own)
        one, other = self.values[value]
        return one[at], other[at]

    def _constant(self, value: Value) -> Array | None:
        """What is the same at all visits: constants, and scalars that the kernel takes."""
        import numpy

        dtype = numpy_dtype(value.type.dtype)
        if isinstance(value.op, Constant):
            return numpy.full(value.type.shape, value.op.value, dtype)
        return numpy.asarray(self._arrays[value]).astype(dtype) if value in self._arrays else None

    def visited(self, value: Value, visit: int, number: int) -> bool:
        """Whether a side came to where a value is made."""
        return not is_unwritten(self.values[value][number][visit]).all()

    def place(self, block: int) -> tuple[int, int, int]:
        """The coordinates of a block."""
        x, y, _ = self._grid
        return block % x, block // x % y, block // (x * y)

    def inputs(self, op: Op) -> Iterator[Value]:
        """The tiles that an op is judged by, but for those that are known without a record."""
        replay = self._replay(op)
        for value in (sources(op) or op.operands) if replay is None else replay.inputs:
            if isinstance(value.type, TileType) and value not in self._arrays and not isinstance(value.op, Constant):
                yield value

    def needed(self, op: Op) -> Iterator[Value]:
        """The tiles that must be recorded to judge an op."""
        return (value for value in self.inputs(op) if not self.knows(value))

    def replayed(
        self, replay: OneOp, operands: Sequence[Array], arrays: Mapping[Value, Array], visit: int, site: Site
    ) -> None:
        """Execute a store again, on arrays of the caller's."""
        replay(operands, arrays, self.place(visit // site.slots), self._grid)

    def touches_written(self, op: Op) -> bool:
        """Whether an op reads memory that the kernel writes."""
        return any(_base(value) in self._written for value in op.effects().reads)

    def _replay(self, op: Op) -> OneOp | None:
        """The op alone; None for one that memory of the launch, or other ops, take part in."""
        from tilewright.interp.debugging.replay import OneOp

        if op not in self._replays:
            effects = op.effects()
            alone = not isinstance(op, For | While | If) and not effects.kept and not self.touches_written(op)
            made = OneOp(op) if alone else None
            if made is not None and any(value not in self._arrays for value in made.arrays):
                made = None
            self._replays[op] = made
        return self._replays[op]


def _base(value: Value) -> Value | None:
    """The parameter that an array is a part of, None where that is not known."""
    while isinstance(value.owner, Op):
        found = next((v for v in value.owner.operands if isinstance(v.type, ArrayType | ListType)), None)
        if found is None:
            return None
        value = found
    return value


def _written(function: Function) -> set[Value | None]:
    """The array parameters that the kernel writes, with those that share memory with them; None for any."""
    from tilewright.tileir.analysis.effects import written_arrays

    out: set[Value | None] = {function.params[i] for i in written_arrays(function)}
    return {None, *out}


def is_unwritten(array: Array) -> Array:
    """Per element, whether it holds what nobody wrote."""
    import numpy

    array = numpy.ascontiguousarray(array)
    size = array.dtype.itemsize
    return array.view(numpy.dtype(f"u{size}")) == int.from_bytes(bytes([UNWRITTEN]) * size, "little")


def owner_of(value: Value, sites: Sites) -> Op | None:
    """The op that a value is made by; of a loop's parameter the loop."""
    return sites.blocks.get(value.owner) if isinstance(value.owner, Block) else value.owner
