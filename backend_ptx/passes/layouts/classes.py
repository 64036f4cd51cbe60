"""Which values must share a layout: classes of values joined by element-wise ops and by the edges of control flow.

Cheap values (constants, iota, and arithmetic and shape changes of these alone) belong to no class: each user gets a
rematerialised copy in the layout that it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.memory import Access, bytes_added, gather_access, tile_access
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.joined import Joined
from tilewright.tileir.analysis.neighbours import looks_up
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.rules import RULES
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.fold import Fold
from tilewright.tileir.ops.memory import Gather, Scatter, TileAccess
from tilewright.tileir.ops.shape import Broadcast

# A memory access in a loop counts this many times more, for each loop around it. By 8, the float32 sums that gradients
# of norms store once halved the bytes of each access of the loop before, whose loads were not prefetched then: RMS norm
# of 16384 x 4096 bfloat16 and its gradients 320 us on an H200, 170 so.
LOOP_WEIGHT = 32
LONGEST_CHEAP = 64  # ops that are cheap to repeat: all of a random number's rounds are not


@dataclass(slots=True, eq=False)
class Anchor:
    """A memory access that prefers some layouts for the values of a class. `tile` is what it moves."""

    op: Op
    tile: Value
    access: Access
    weight: int
    splits: bool  # may work in a layout of its own, at the price of a conversion


@dataclass(slots=True, eq=False)
class LayoutClass:
    """Values that share a layout. `edges`: shape-changing ops whose source or result is here."""

    shape: tuple[int, ...]
    element_bytes: int = 1
    anchors: list[Anchor] = field(default_factory=list)
    edges: list[Op] = field(default_factory=list)
    layout: Layout | None = None

    @property
    def importance(self) -> int:
        """Classes that move much memory choose first."""
        size = self.element_bytes
        for n in self.shape:
            size *= n
        return size * max((a.weight for a in self.anchors), default=0)


class Classes(Joined[Value]):
    """The classes of a function, found by walking it once."""

    def __init__(self, unit: Compilation) -> None:
        super().__init__()
        self.unit = unit
        self.cheap: dict[Value, int] = {}  # and of how many ops the longest chain is that makes one
        self.anchors: dict[Op, Anchor] = {}
        self.edges: list[Op] = []
        self.groups: dict[Op, list[Value]] = {}
        self.products: list[Product] = []
        self.spread: list[tuple[int, Op, Value]] = []  # how often, and which index of which access
        self._block(unit.function.body.ops, 1)
        self._join_spread()
        self.of: dict[Value, LayoutClass] = self._collect()

    def _join(self, values: Iterable[Value | None]) -> None:
        """Put the tiles among the values into one class, cheap ones left out."""
        first: Value | None = None
        for value in values:
            if value is not None and is_tile(value) and value not in self.cheap:
                first = first or value
                self.join(value, first)

    def _block(self, ops: Sequence[Op], weight: int) -> None:
        for op in ops:
            inner = weight * (LOOP_WEIGHT if op.repeats else 1)
            for block in op.blocks:
                for param in block.params:
                    self._join((param,))
                self._block(block.ops, inner)
            self._op(op, weight)

    def _op(self, op: Op, weight: int) -> None:
        if (length := self._cheap_chain(op)) is not None:
            self.cheap[op.results[0]] = length
        elif isinstance(op, Fold):
            self._same_shapes(op)
        elif op.blocks:
            for values in carried(op):
                self._join(values)
        elif RULES.of(op) is not None:
            self._join(op.results)
            self._join([op.operands[0]])
            self.edges.append(op)
        elif isinstance(op, Product):
            # The operands come in layouts of their own, whatever they share with the accumulator's shape.
            for value in (op.a, op.b, *op.scales):
                self._join((value,))
            self._join((op.acc, op.result))
            self.products.append(op)
        elif not op.terminator:
            self._same_shapes(op, self._set_apart(op, weight))
            self._anchor(op, weight)

    def _cheap_chain(self, op: Op) -> int | None:
        """The longest chain of ops that make its result for each user anew; None where it has a layout."""
        if len(op.results) != 1 or not is_tile(op.results[0]):
            return None
        if op.rematerializable or (isinstance(op, Broadcast) and not op.src.type.shape):
            return 1
        lengths = [self.cheap.get(v, LONGEST_CHEAP) for v in op.operands if is_tile(v)]
        return max(lengths) + 1 if op.cheap and lengths and max(lengths) < LONGEST_CHEAP else None

    def _same_shapes(self, op: Op, apart: Collection[Value] = ()) -> None:
        """One class for operands and results of equal shape: for element-wise ops, gathers and unknown ops."""
        tiles = [v for v in (*op.operands, *op.results) if is_tile(v) and v not in apart]
        self.groups[op] = [v for v in tiles if v not in self.cheap]
        for shape in {v.type.shape for v in tiles}:
            self._join(v for v in tiles if v.type.shape == shape)

    def _set_apart(self, op: Op, weight: int) -> list[Value]:
        """The indices of an access beside MMAs that are a smaller tile, spread out; see `_join_spread`."""
        if not isinstance(op, Gather | Scatter) or not self.unit.has(Product):
            return []
        moved = op.result if isinstance(op, Gather) else op.value
        out = [i for i in op.indices if isinstance(i.op, Broadcast) and moved not in self.cheap and i not in self.cheap]
        self.spread += [(weight, op, value) for value in out]
        return out

    def _join_spread(self) -> None:
        """Indices that are spread out join the class of the access, the most frequent one first. Where MMAs say what
        threads hold of one of the two, and another access moves the other, the access has them spread anew."""
        for _, op, value in sorted(self.spread, key=lambda entry: -entry[0]):
            both = {self.find(self.groups[op][0]), self.find(value)}
            free = both - {self.find(product.result) for product in self.products}
            if len(both) == 1 or len(free) != 1 or not free <= {self.find(a.tile) for a in self.anchors.values()}:
                self.groups[op].append(value)
                self._join((self.groups[op][0], value))

    def _anchor(self, op: Op, weight: int) -> None:
        if isinstance(op, TileAccess):
            if is_tile(op.tile):
                access = tile_access(op.array.type, op.order, op.steps, op.tile.type.shape)
                self.anchors[op] = Anchor(op, op.tile, access, weight, splits=True)
        elif isinstance(op, (Gather, Scatter, Atomic)) and op.shape:
            alone = isinstance(op, Atomic) and bytes_added(op, self.unit) <= op.array.type.dtype.bytes
            indices = () if alone else tuple(self.unit.runs[i] for i in op.indices)
            access = gather_access(op.array.type, op.shape, indices, looks_up(op))
            if self.groups[op]:
                self.anchors[op] = Anchor(op, self.groups[op][0], access, weight, splits=False)

    def _collect(self) -> dict[Value, LayoutClass]:
        by_root: dict[Value, LayoutClass] = {}
        of: dict[Value, LayoutClass] = {}
        for value in self.parent:
            root = self.find(value)
            found = by_root.setdefault(root, LayoutClass(root.type.shape))
            found.element_bytes = max(found.element_bytes, value.type.dtype.bytes)
            of[value] = found
        for anchor in self.anchors.values():
            if anchor.tile in of:
                of[anchor.tile].anchors.append(anchor)
        for op in self.edges:
            for value in (op.operands[0], op.results[0]):
                if value in of:
                    of[value].edges.append(op)
        return of
