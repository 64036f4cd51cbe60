"""A producer's tiles, computed where a consumer loads them: a prologue of its loads.

Before, over a grid of its own:

    %t: tile<16xf32> = load(array=%x, index=(%i), ...)
    store(array=%h, index=(%i), value=f(%t), ...)         // %i = block_id(axis=0)

and in the consumer `load(array=%h, index=(%k), ...)`. After, in the place of that load, with %k for the block:

    %t: tile<16xf32> = load(array=%x, index=(%k), ...)
    f(%t)
"""

from __future__ import annotations

from tilewright.combining.forwarding import PADDINGS
from tilewright.combining.graph import Graph
from tilewright.combining.pieces import Piece, inlined
from tilewright.combining.regions import Regions
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.ops.arith import Constant, FloorDiv, Mod, Select
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.passes.select_paddings import inside
from tilewright.tileir.types import TileType

Size = tuple[int, int, int]

# What a tile may take that stays while a loop runs: half the registers of an SM, which are 64 Ki of 32 bits on sm_80 to
# sm_120 (CUDA C++ Programming Guide, "Compute Capabilities").
LARGEST_KEPT = 1 << 17


def refusal(first: Piece, first_grid: Size, second: Piece, slot: int, grid: Size, graph: Graph) -> str | None:
    """Why a consumer cannot compute the tiles of an array where it loads them; None if it can."""
    name = graph.slots[slot].name
    store, *others = [op for op in first.function.walk() if op.effects().writes]
    if others or not isinstance(store, Store) or store.array is not first.param(slot):
        return f"what makes {name} writes more than one tile of it, or something else"
    if store not in first.function.body.ops:
        return f"{name} is written in a loop or under a condition"
    if any(isinstance(op, BlockId | NumBlocks) and op not in first.function.body.ops for op in first.function.walk()):
        return f"what makes {name} asks for its block in a loop"
    axes = [i.op.axis if isinstance(i.op, BlockId) else None for i in store.index]
    numbers = [axis for axis in axes if axis is not None]
    if len(set(numbers)) < len(numbers) or {a for a, n in enumerate(first_grid) if n > 1} - set(numbers):
        return f"the place of a tile of {name} does not tell the block that makes it"
    if any(axis is None and not _is_zero(i) for axis, i in zip(axes, store.index, strict=True)):
        return f"the place of a tile of {name} is no block number"
    shape = graph.slots[slot].info.shape
    for axis, step, extent in zip(axes, store.steps, (shape[a] for a in store.order), strict=True):
        if (1 if axis is None else first_grid[axis]) * step < extent:
            return f"not all of {name} is written"
    return _refused_loads(store, axes, first, first_grid, second, slot, grid, graph)


def _refused_loads(
    store: Store, axes: list[int | None], first: Piece, first_grid: Size, second: Piece, slot: int, grid: Size,
    graph: Graph,
) -> str | None:
    name = graph.slots[slot].name
    shapes = {k: graph.slots[s].info.shape for k, s in enumerate(second.slots) if graph.slots[s].is_array}
    forms = Regions(second.function, grid, shapes, {}).forms
    for op in second.accesses(slot):
        if not op.effects().reads:
            continue
        if not isinstance(op, Load) or op.memory_order is not MemoryOrder.WEAK:
            return f"{name} is read by single elements"
        made, read = store.value.type.shape, op.shape
        if op.order != store.order or op.steps != read or store.steps != made:
            return f"tiles of {name} lie in another order, or overlap"
        size = max(_bytes(first.function), default=0)
        if made != read and size > LARGEST_KEPT:
            return (f"{_tiles(name, made, read)}: a block would keep {size >> 10} KiB of it while it reads them, of "
                    f"{LARGEST_KEPT >> 10} that it may")
        if any(whole % part for whole, part in zip(made, read, strict=True)):
            return _tiles(name, made, read)
        for axis, index, whole, part in zip(axes, op.index, made, read, strict=True):
            form = forms.of(index)
            count = (1 if axis is None else first_grid[axis]) * (whole // part)
            if form is None or form.bounds(grid)[0] < 0 or form.bounds(grid)[1] >= count:
                return f"where {name} is read is not known, or no block makes it"
    return None


def computed_in_place(first: Piece, first_grid: Size, second: Piece, slot: int, grid: Size, graph: Graph) -> Piece:
    """The consumer with the producer in the place of its loads; there is no `refusal`."""
    slots = list(dict.fromkeys([*second.slots, *first.slots]))
    body, params = Block(), {}
    for piece in (second, first):
        for number, param in zip(piece.slots, piece.function.params, strict=True):
            if number not in params:
                params[number] = body.add_param(param.type, param.hint)
    own = {param: params[number] for number, param in zip(second.slots, second.function.params, strict=True)}
    out = Function(second.function.name, body, second.function.hints, second.function.span)
    body.ops = [*inlined(second.function.body, own), Return(span=second.function.span)]
    given = {param: params[number] for number, param in zip(first.slots, first.function.params, strict=True)}
    whole = Piece(out, slots)
    _Inlining(first, first_grid, given, params[slot], reaching(whole, slot, grid, graph), facts(out)).block(body)
    return whole


def reaching(piece: Piece, slot: int, grid: Size, graph: Graph) -> set[Op]:
    """The loads of an array whose tiles may lie beyond its end."""
    shapes = {k: graph.slots[s].info.shape for k, s in enumerate(piece.slots) if graph.slots[s].is_array}
    regions, shape = Regions(piece.function, grid, shapes, {}), graph.slots[slot].info.shape
    return {access.op for access in regions.of(piece.slots.index(slot)) if access.forms is None or any(
        form is None or form.bounds(grid)[1] >= extent for form, extent in zip(access.forms, shape, strict=True))}


class _Inlining:
    def __init__(
        self, first: Piece, grid: Size, given: dict[Value, Value], array: Value, reaching: set[Op], known: Facts
    ) -> None:
        self.function = first.function
        self.grid = grid
        self.given = given
        self.array = array
        self.reaching = reaching  # the loads that see padding
        self.facts = known
        [self.store] = [op for op in self.function.body.ops if isinstance(op, Store)]

    def block(self, block: Block) -> None:
        renamed: dict[Value, Value] = {}
        old, block.ops = block.ops, []
        for op in old:
            op.replace_operands(renamed)
            for inner in op.blocks:
                self.rename(inner, renamed)
                self.block(inner)
            if isinstance(op, Load) and op.array is self.array:
                renamed[op.result] = self.tile(op, Builder(block, op.span))
            else:
                block.ops.append(op)

    def rename(self, block: Block, renamed: dict[Value, Value]) -> None:
        for op in block.walk():
            op.replace_operands(renamed)

    def tile(self, load: Load, builder: Builder) -> Value:
        """What the producer stores at the place of a load."""
        made = self.store.value.type.shape
        counts = [whole // part for whole, part in zip(made, load.shape, strict=True)]
        places = zip(self.store.index, load.index, counts, strict=True)
        blocks = {own.op.axis: _of(FloorDiv, builder, at, count)
                  for own, at, count in places if isinstance(own.op, BlockId)}
        mapping = dict(self.given)
        for op in self.function.body.ops:
            if isinstance(op, BlockId):
                mapping[op.result] = blocks[op.axis] if op.axis in blocks else builder.number(0)
            elif isinstance(op, NumBlocks):
                mapping[op.result] = builder.number(self.grid[op.axis])
            elif op is self.store or isinstance(op, Return):
                continue
            else:
                builder.block.ops.append(self.copy(op, mapping))
        value = mapping.get(self.store.value, self.store.value)
        if made != load.shape:  # a part of the tile, the rest of which later iterations may take
            index = tuple(_of(Mod, builder, at, count) for at, count in zip(load.index, counts, strict=True))
            value = builder.value(Extract(src=value, index=index, shape=load.shape))
        return self.padded(load, builder, value)

    def copy(self, op: Op, mapping: dict[Value, Value]) -> Op:
        return op.clone(mapping)

    def padded(self, load: Load, builder: Builder, value: Value) -> Value:
        """With the load's padding outside the array."""
        if load.padding is PaddingMode.UNDETERMINED or not load.check_bounds or load not in self.reaching:
            return value
        number, type_ = PADDINGS[load.padding], load.result.type
        padding = number if type_.dtype.is_float else type_.dtype.is_int and int(number)
        mask = inside(builder, load, self.facts)
        return builder.value(Select(cond=mask, lhs=value, rhs=builder.value(Constant(value=padding, type=type_))))


def _bytes(function: Function) -> list[int]:
    """The size of every tile that a function computes."""
    return [result.type.size * result.type.dtype.bitwidth // 8 for op in function.walk() for result in op.results
            if isinstance(result.type, TileType)]


def _of(kind: type[FloorDiv | Mod], builder: Builder, index: Value, count: int) -> Value:
    """Which of the producer's tiles an index of the consumer's lies in, or which part of it."""
    place = builder.cast(index, int32)
    if count == 1:
        return place if kind is FloorDiv else builder.number(0)
    return builder.value(kind(lhs=place, rhs=builder.number(count)))


def _is_zero(index: Value) -> bool:
    return isinstance(index.op, Constant) and index.op.value == 0


def _tiles(name: str, made: tuple[int, ...], read: tuple[int, ...]) -> str:
    one, other = (" x ".join(map(str, shape)) for shape in (made, read))
    return f"{name} is made in tiles of {one} and read in tiles of {other}"
