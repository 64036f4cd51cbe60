"""The interface to memory: every access of the interpreter to an array or a shared buffer goes through it.

A handler says *what* it accesses, as a `Region`; the `Memory` of the launch performs the access. The plain one does it
on NumPy arrays. Another one, passed in `ExecutionOptions`, sees each access with its op (whose span is a line of the
user's source) and its blocks. It may check, record, refuse or change the access, and no handler has to know.

    class Counting(Memory):
        def read(self, region, op):
            self.reads[op.span, region.array.name] += 1
            return super().read(region, op)

Accesses come in program order: asynchronous copies and MMAs happen where they start, and `synchronise` tells where the
kernel waits for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from tilewright.tileir.core import Function, Op, Value

Values = Any
"""Elements as registers hold them (interp/formats.py): an ndarray, or a NumPy scalar."""


class Blocks(Protocol):
    """The blocks of a chunk (`interp/chunk.py`): how many, their coordinates by axis (an int32 array over them, or
    one int32 for all), and the grid."""

    count: int
    ids: tuple[Any, Any, Any]
    grid: tuple[int, int, int]


class Region(ABC):
    """The elements of one array or shared buffer that one op accesses, for all blocks of a chunk at once.

    `kind`: "tile" (a box of an array), "elements" (positions of a gather, scatter or atomic operation) or "shared" (a
    shared buffer, or one slot of a ring).
    `array`: the `ArrayRef` or `SharedBuffer`; its `name` is that of the argument, or of the buffer.
    `index`: where. Tiles: the first element along each tile axis. Elements: the position along each array axis. Shared:
    the slot, if there is one. Each is a number, or an array over the blocks (elements: over blocks and tile).
    `chunk`, `blocks`: the blocks that access it; `blocks` are numbers in the chunk (None: all of the chunk).
    `varies`: whether elements have a leading axis over these blocks. If not, each block accesses the same elements.
    """

    __slots__ = ("array", "index", "chunk", "blocks", "varies")
    kind: ClassVar[str]

    def __init__(self, array: Any, index: Sequence[Any], chunk: Blocks, blocks: Any, varies: bool) -> None:
        self.array = array
        self.index = index
        self.chunk = chunk
        self.blocks = blocks
        self.varies = varies

    @property
    def count(self) -> int:
        """How many blocks access it."""
        return self.chunk.count if self.blocks is None else len(self.blocks)

    @property
    def block_ids(self) -> Any:
        """The coordinates of these blocks in the grid: an int64 array [blocks, 3]."""
        ids = [np.broadcast_to(i, (self.chunk.count,)) for i in self.chunk.ids]
        out = np.stack(ids, axis=-1).astype(np.int64)
        return out if self.blocks is None else out[self.blocks]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the values: that of the tile, behind the axis over blocks where `varies`."""

    @property
    @abstractmethod
    def mask(self) -> Any:
        """Which elements are accessed, in `shape`: those inside the array that no mask excludes. None for all."""

    @abstractmethod
    def offsets(self) -> Any:
        """The place of each element, in `shape`: int64 bytes from the start of the argument's memory (`array.window`),
        or of the block's buffer. Those of elements that `mask` excludes mean nothing."""

    @abstractmethod
    def read(self) -> Values:
        """The values now in memory; padding where `mask` excludes an element. It may be a view of the memory."""

    @abstractmethod
    def write(self, values: Values) -> None:
        """Overwrite the elements. Values without an axis over blocks are the same for all."""

    def update(self, change: Change) -> Values:
        """Apply an atomic operation to each element, one after another; the values before it."""
        raise TypeError(f"atomic operations on {self.kind}")


@dataclass(frozen=True, slots=True)
class Change:
    """An atomic operation on elements as they lie in memory: `new(old, *operands)`, whose operands are held `values`.

    `ufunc`, where nobody asks for old values: a NumPy function of which the order of equal places does not matter.
    `exact`: the NumPy function that `new` is, where it is one.
    """

    kind: str
    new: Callable[..., Any]
    values: tuple[Values, ...]
    ufunc: Any = None
    exact: Any = None


class Waiting(NamedTuple):
    """Of a loop that waits for an element which does not change: how the element is known to stay as it is, why that
    is an error, and what to write instead."""

    unchanged: str
    reason: str
    hint: str


class Memory:
    """Plain memory: performs every access at once and checks nothing. Subclasses override what they want to see.

    `checks`: what the launch checks of values and control flow as well (interp/checking); empty: nothing. `waiting`:
    the words of an error where `patient` gives up.
    """

    checks: frozenset[str] = frozenset()
    waiting: ClassVar[Waiting] = Waiting(
        "which no block that runs before has changed",
        "a block may only wait for blocks that run already: nothing says that a later one starts before this one ends",
        "let blocks wait for those with lower numbers, or take numbers with atomic_add")

    def begin(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        """A launch starts. `arguments` has an `ArrayRef` for each array, a list of them for each list, a NumPy scalar
        for each scalar."""

    def end(self) -> None:
        """The launch has ended without an error."""

    def patient(self, period: int) -> bool | None:
        """A loop leaves what it carries and memory as they were, each `period` iterations. Can others end it? None:
        only another thread of the program could."""
        return None

    def direct(self, op: Op) -> bool:
        """May an op access the memory itself where its tiles lie wholly inside the array? Nobody then sees it."""
        return self is PLAIN

    def side_by_side(self) -> bool:
        """May blocks run side by side that learn of each other by atomic operations alone, once in each block?"""
        return self is PLAIN

    def rectangles(self, tiles: Iterable[Value]) -> bool:
        """May these tiles be read once for all blocks of a rectangle that load them (`share`)?"""
        return self is PLAIN

    def read(self, region: Region, op: Op) -> Values:
        """The values of a region."""
        return region.read()

    def share(self, region: Region, whole: Callable[[], Region], op: Op) -> Values:
        """The values of a region that several blocks load alike; `whole()` has them for each block."""
        return region.read()

    def write(self, region: Region, values: Values, op: Op) -> None:
        """Overwrite a region."""
        region.write(values)

    def update(self, region: Region, change: Change, op: Op) -> Values:
        """An atomic operation; the values before it. Masked elements give what the op says: any value, and the
        expected one for a compare-and-swap."""
        return region.update(change)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], chunk: Blocks, op: Op) -> Any:
        """The bytes of new shared buffers of a chunk, whose contents are undefined: an ndarray."""
        return np.zeros(shape, dtype)

    def synchronise(self, chunk: Blocks, op: Op) -> None:
        """The blocks reach an op that orders accesses: a barrier, a fence, an arrival, or a wait for what started."""


PLAIN = Memory()
"""The memory of a launch that asks for no other."""
