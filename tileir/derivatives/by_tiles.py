"""Gradients by their own tiles: each block computes one tile, over all blocks of the kernel that have a share in it.

    for block (i): for j: x_grad[j] += f(i, j)        becomes        for block (j): x_grad[j] = sum over i of f(i, j)

The gradient has been derived with plain stores in the place of additions. Where a tile lies must be told by block
numbers and loop variables, one for each axis along which it varies: these become the block's place, the other block
numbers loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.tileir.analysis.facts import facts
from tilewright.tileir.analysis.trends import Trend, Trends
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives import decisions
from tilewright.tileir.derivatives.block_values import BlockValues
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.derivatives.keeping import Need, check_words
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, shape
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.control import Condition, For, If, Return, While, Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.math import Not
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import TileType

_INDEX = TileType(int32)
Variable = int | For
"""A number of a block along an axis of the grid, or what a loop counts."""


def by_tiles(
    function: Function, stores: Sequence[Store], added: frozenset[Value], blocks: int, workspace: Value | None,
) -> Function:
    """The function by tiles of the gradients that these ops store, each of which a block stores once. `added`: the
    gradients, parameters, that are added to; `blocks`: of how many axes the kernel's grid comes as a parameter;
    `workspace`: the last parameter, where `before_tiles` has kept what the kernel's blocks compute."""
    return _Turned(function, stores, added, blocks, workspace).make()


def before_tiles(
    function: Function, stores: Sequence[Store], blocks: int, workspace: Value,
) -> Function:
    """The function that runs before, over the kernel's own grid, with the same parameters."""
    return _Turned(function, stores, frozenset(), blocks, workspace).before()


def needed_of_blocks(function: Function, stores: Sequence[Store], blocks: int) -> Need:
    """The workspace for what the kernel's blocks compute."""
    turned = _Turned(function, stores, frozenset(), blocks, None)
    return BlockValues(function, turned.last).need


@dataclass(slots=True)
class _Sum:
    """A gradient's tile: what is added up of it, and the ops, of the value that is stored, that follow on the sum."""

    store: Store
    value: Value
    after: list[Any]


class _Turned:
    def __init__(
        self, function: Function, stores: Sequence[Store], added: frozenset[Value], blocks: int,
        workspace: Value | None,
    ) -> None:
        self.function = function
        self.added = added
        used = Counter(value for op in function.walk() for value in op.operands)
        self.sums = [_sum_of(store, used) for store in stores]
        self.loops = {op.loop.params[0]: op for op in function.walk() if isinstance(op, For)}
        self.places = self._places()
        self.holders = self._holders()
        self.given = blocks
        self.last: set[Op] = {*stores, *self.holders}
        body = Block()
        self.now: dict[Value, Value] = {
            p: body.add_param(p.type, p.hint) for p in function.params if p is not workspace}
        self.b = Emitter(body)
        self.b.span = function.span
        self.count = [body.add_param(_INDEX, f"blocks_{axis}") for axis in range(blocks)]
        self.workspace: Value | None = None
        self.kept: BlockValues | None = None
        if workspace is not None:
            self.workspace = self.now[workspace] = body.add_param(workspace.type, workspace.hint)
            self.kept = BlockValues(function, self.last)
            check_words(workspace, self.kept.need)

    def make(self) -> Function:
        """The new function."""
        b, zeros = self.b, []
        coordinates = [b.value(BlockId(axis=axis)) for axis in range(len(self.places))]
        self.at: dict[Variable, Value] = dict(zip(self.places, coordinates, strict=True))
        for one in self.sums:
            zeros.append(b.constant(0.0, one.value.type.erased()))
        rest = [axis for axis in range(self.given) if axis not in self.at]
        totals = self._over(rest, zeros)
        for one, total in zip(self.sums, totals, strict=True):
            self._store(one, total)
        b.emit(Return())
        made = Function(self.function.name, b.block, self.function.hints, self.function.span)
        made.decisions = list(self.function.decisions)
        if self.kept is not None and self.kept.need.words:
            made.decisions.append(decisions.of_blocks(self.function.span, self.kept.need.words, self.kept.need.bits))
        return made

    def before(self) -> Function:
        """The function that fills the workspace."""
        assert self.kept is not None and self.workspace is not None
        return self.kept.kernel(self.workspace, self.b, self.now)

    # ---- what there is

    def _places(self) -> list[Variable]:
        """What tells a tile's place, axis by axis; the same for all gradients."""
        found = [self._place(one.store) for one in self.sums]
        other = next((k for k, place in enumerate(found) if place != found[0]), None)
        if other is not None:
            raise _refusal(self.sums[other].store, "its tiles lie at other places than those of the first gradient",
                           "derive gradients of arrays that are loaded at different places one by one")
        return found[0]

    def _place(self, store: Store) -> list[Variable]:
        out: list[Variable] = []
        for index in store.index:
            if isinstance(index.op, arith.Constant):
                continue
            if isinstance(index.op, BlockId):
                variable: Variable | None = index.op.axis
            else:
                variable = self.loops.get(index)
            if variable is None or variable in out:
                raise _refusal(store, "the place of a tile is no block number or loop variable",
                               "leave by_tiles out: gradients are added up block by block")
            out.append(variable)
        return out

    def _holders(self) -> set[Op]:
        """The loops in which gradients are stored; other control flow is refused."""
        stores, found = {one.store for one in self.sums}, set[Op]()

        def walk(block: Block) -> bool:
            inside = False
            for op in block.ops:
                held = any([walk(inner) for inner in op.blocks])
                if held and not isinstance(op, For):
                    raise _refusal(op, "a gradient is added to under a condition", "load the array outside of it")
                if held:
                    found.add(op)
                inside = inside or held or op in stores
            return inside

        walk(self.function.body)
        return found

    # ---- what is made

    def _over(self, axes: Sequence[int], totals: list[Value]) -> list[Value]:
        """Loops over the block numbers along these axes, the first one innermost."""
        b = self.b
        if not axes:
            return self._body(self.function.body, totals)
        *inner, axis = axes
        lower, upper = b.number(0), self.count[axis]
        if not inner:
            lower, upper = self._range(axis, lower, upper)
        with b.into([_INDEX, *(t.type for t in totals)], ["", *(t.hint for t in totals)]) as body:
            number, *carried = body.params
            self.at[axis] = number
            b.emit(Yield(values=tuple(self._over(inner, carried))))
            del self.at[axis]
        made = b.emit(For(lower=lower, upper=upper, step=b.number(1), init=tuple(totals), loop=body))
        return list(made.results)

    def _body(self, block: Block, totals: list[Value]) -> list[Value]:
        """The ops of a block, with the sums so far; gives the sums behind them."""
        stores = {one.store: k for k, one in enumerate(self.sums)}
        later = {op for one in self.sums for op in one.after}
        for op in block.ops[:-1]:
            if op in later:
                continue  # it follows on the sum
            if op in stores:
                k = stores[op]
                totals[k] = self.b.sum_of(totals[k], self.now[self.sums[k].value])
            elif isinstance(op, For) and op in self.holders:
                totals = self._loop(op, totals)
            elif self.kept is not None and self.workspace is not None and op in self.kept.made:
                self.kept.load(self.b, op, self.workspace, self._block(), self.now)
            elif isinstance(op, BlockId):
                self.now[op.result] = self.b.cast(self._number(op.axis), op.result.type.dtype)
            elif isinstance(op, NumBlocks):
                self.now[op.result] = self.b.cast(self._size(op.axis), op.result.type.dtype)
            else:
                self.b.block.ops.append(op.clone(self._known(op)))
        return totals

    def _known(self, op: Op) -> dict[Value, Value]:
        """What stands for values; numbers of blocks inside an op's bodies are made before it."""
        for block in op.blocks:
            for inner in block.walk():
                if isinstance(inner, (BlockId, NumBlocks)):
                    raise _refusal(inner, "a block's number is asked for in a loop", "ask for it before the loop")
        return self.now

    def _number(self, axis: int) -> Value:
        return self.at[axis] if axis in self.at else self.b.number(0)

    def _size(self, axis: int) -> Value:
        return self.count[axis] if axis < self.given else self.b.number(1)

    def _block(self) -> Value:
        """The number in its grid of the kernel's block, the first axis varying fastest."""
        b, number = self.b, self._number(self.given - 1)
        for axis in reversed(range(self.given - 1)):
            number = b.add(b.mul(number, self._size(axis)), self._number(axis))
        return number

    def _loop(self, op: For, totals: list[Value]) -> list[Value]:
        """A loop that stores gradients: its iteration for this place, or all of its iterations."""
        b = self.b
        if op.init:
            raise _refusal(op, "the adjoints of this loop depend on the order of its iterations",
                           "leave by_tiles out: gradients are added up block by block")
        if op not in self.at:
            with b.into([op.loop.params[0].type, *(t.type for t in totals)]) as body:
                self.now[op.loop.params[0]], *carried = body.params
                b.emit(Yield(values=tuple(self._body(op.loop, carried))))
            lower, upper, step = (self.now[v] for v in (op.lower, op.upper, op.step))
            return list(b.emit(For(lower=lower, upper=upper, step=step, init=tuple(totals), loop=body)).results)
        place = self.now[op.loop.params[0]] = b.cast(self.at[op], op.lower.type.dtype)
        if op is self._ranged:
            return self._body(op.loop, totals)
        lower, upper, step = (self.now[v] for v in (op.lower, op.upper, op.step))
        within = b.value(arith.And(lhs=b.compare(arith.Ge, place, lower), rhs=b.compare(arith.Lt, place, upper)))
        turn = b.value(arith.Mod(lhs=b.sub(place, lower), rhs=step))
        within = b.value(arith.And(lhs=within, rhs=b.compare(arith.Eq, turn, b.like(turn, 0))))
        with b.into() as then:
            b.emit(Yield(values=tuple(self._body(op.loop, list(totals)))))
        with b.into() as orelse:
            b.emit(Yield(values=tuple(totals)))
        return list(b.emit(If(cond=within, then=then, orelse=orelse)).results)

    def _store(self, one: _Sum, total: Value) -> None:
        """Store a tile, or add it to what is there."""
        b, op = self.b, one.store
        for later in reversed(one.after):
            again = type(later)(**{**{name: getattr(later, name) for name in later.fields}, "src": total})
            total = b.value(again)
        array = self.now[op.array]
        total = b.cast(total, array.type.dtype)
        index = tuple(
            b.number(int(i.op.value), i.type.dtype) if isinstance(i.op, arith.Constant)
            else b.cast(self.at[i.op.axis if isinstance(i.op, BlockId) else self.loops[i]], i.type.dtype)
            for i in op.index)
        place: dict[str, Any] = {"array": array, "index": index, "steps": op.steps, "order": op.order,
                                 "check_bounds": op.check_bounds}
        if op.array in self.added:
            total = b.add(b.value(Load(shape=total.type.shape, padding=PaddingMode.ZERO, **place)), total)
        b.emit(Store(value=total, **place))

    # ---- the blocks that have a share

    _ranged: For | None = None

    def _range(self, axis: int, first: Value, last: Value) -> tuple[Value, Value]:
        """The block numbers along an axis in which the loop that counts tiles comes to this one, where they follow each
        other: its end grows or shrinks with them, or stays. Found by halving."""
        [*loops] = [op for op in self.places if isinstance(op, For)]
        if len(loops) != 1 or loops[0] not in self.function.body.ops or _constant(loops[0].lower) != 0 or (
                _constant(loops[0].step) != 1):
            return first, last
        loop = loops[0]
        trend = Trends(axis, facts(self.function)).of(loop.upper)
        slice_ = _slice(loop.upper, self.function.body)
        if trend is Trend.UNKNOWN or slice_ is None:
            return first, last
        self._ranged = loop
        place = self.b.cast(self.at[loop], loop.upper.type.dtype)

        def reaches(number: Value) -> Value:
            return self.b.compare(arith.Lt, place, self._end(slice_, loop.upper, axis, number))

        if trend is Trend.SAME:
            return first, self.b.select(reaches(first), last, first)
        found = self._halve(first, last, reaches, trend is Trend.GROWS)
        return (found, last) if trend is Trend.GROWS else (first, found)

    def _end(self, ops: Sequence[Op], value: Value, axis: int, number: Value) -> Value:
        """The loop's end for a block number along an axis."""
        now = dict(self.now)
        for op in ops:
            if isinstance(op, BlockId):
                now[op.result] = self.b.cast(number if op.axis == axis else self._number(op.axis), op.result.type.dtype)
            elif isinstance(op, NumBlocks):
                now[op.result] = self.b.cast(self._size(op.axis), op.result.type.dtype)
            else:
                self.b.block.ops.append(op.clone(now))
        return now[value]

    def _halve(self, first: Value, last: Value, reaches: Callable[[Value], Value], grows: bool) -> Value:
        """The least number from `first` on, below `last`, from which on the loop reaches the tile, or, if it does not
        grow, from which on it no longer does."""
        b = self.b
        with b.into([_INDEX, _INDEX], ["low", "high"]) as before:
            b.emit(Condition(cond=b.compare(arith.Lt, *before.params), values=tuple(before.params)))
        with b.into([_INDEX, _INDEX], ["low", "high"]) as after:
            low, high = after.params
            middle = b.value(arith.FloorDiv(lhs=b.add(low, high), rhs=b.number(2)))
            behind = b.add(middle, b.number(1))
            there = reaches(middle)
            if not grows:
                there = b.value(Not(src=there))
            b.emit(Yield(values=(b.select(there, low, behind), b.select(there, middle, high))))
        return b.emit(While(init=(first, last), before=before, after=after)).results[0]


def _sum_of(store: Store, used: Mapping[Value, int]) -> _Sum:
    """What a store adds: below what only gives it another shape or dtype, so that products are added up where they are
    made."""
    value, after = store.value, list[Any]()
    while used[value] == 1 and (isinstance(value.op, (shape.Reshape, shape.Permute)) or (
            isinstance(value.op, Cast) and value.op.src.type.dtype.is_float)):
        after.append(value.op)
        value = value.op.src
    return _Sum(store, value, after)


def _slice(value: Value, body: Block) -> list[Op] | None:
    """The ops, of scalars at the top of a function, that a number is computed by; None where there are others."""
    wanted, out = {value}, []
    made = {result for op in body.ops for result in op.results}
    for op in reversed(body.ops):
        if not any(result in wanted for result in op.results):
            continue
        if op.blocks or op.effectful or op.result.type.shape:
            return None
        wanted.update(op.operands)
        out.append(op)
    return out[::-1] if all(v in made or v in body.params for v in wanted) else None


def _constant(value: Value) -> int | None:
    return int(value.op.value) if isinstance(value.op, arith.Constant) else None


def _refusal(op: Op, why: str, hint: str) -> TileUnsupportedFeatureError:
    text = f"the gradient cannot be computed by its own tiles: {why}"
    return TileUnsupportedFeatureError(text, op.span, hints=[hint])
