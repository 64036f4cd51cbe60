"""What the forward kernel has stored and its gradient reads again, in the place of computing it: residuals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value, clone_function
from tilewright.tileir.derivatives import decisions
from tilewright.tileir.derivatives.control import ops_around
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.derivatives.keeping import trips_of
from tilewright.tileir.derivatives.restarts import maximum_from, restart
from tilewright.tileir.derivatives.shifts import Shift, extremes, shifts
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import convert, reduce, shape
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.ops.fold import ScanWith
from tilewright.tileir.ops.math import StopGradient
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.plan import Decision

_DEAR = (For, While, If, Mma, reduce.Reduction, ScanWith)
"""Ops after which a value is read rather than recomputed, of which each element costs more than one to read."""


def is_dear(op: Op | None) -> bool:
    """Whether what an op makes is read rather than recomputed."""
    return isinstance(op, _DEAR)


@dataclass(slots=True)
class Prepared:
    """A function to derive. `saved`: of values, those that stand for them in the derived kernel; `loads`, the ops that
    read residuals."""

    function: Function
    saved: dict[Value, Value] = field(default_factory=dict)
    loads: set[Op] = field(default_factory=set)
    decisions: list[Decision] = field(default_factory=list)


def stores_of(function: Function, params: Collection[Value]) -> dict[Value, list[Op]]:
    """The ops that write each of these parameters, in program order."""
    dependences = Dependences(function)
    positions = {k: param for k, param in enumerate(function.params) if param in params}
    found: dict[Value, list[Op]] = {param: [] for param in positions.values()}
    for op in function.walk():
        for memory in op.effects().writes if op.writing else ():
            for k in dependences.parameters(memory) & positions.keys():
                found[positions[k]].append(op)
    return found


def prepared(function: Function, outputs: Collection[int], residuals: frozenset[int]) -> Prepared:
    """The function with loops begun anew from running maxima, and with loads of residuals. `outputs`: the positions of
    parameters that have cotangents."""
    work = _Preparation(function, outputs)
    for position in sorted(residuals):
        work.add_store(position)
    work.restart_loops()
    work.hold_extremes()
    for position in sorted(residuals):
        work.read(position)
    return work.made


class _Preparation:
    def __init__(self, function: Function, outputs: Collection[int]) -> None:
        self.made = Prepared(clone_function(function))
        self.outputs = [self.function.params[k] for k in outputs]
        self.stores: dict[int, Store] = {}

    def seeding(self) -> set[Op]:
        """The ops that bring cotangents in, and those around them."""
        found = {op for ops in stores_of(self.function, self.outputs).values() for op in ops}
        ops_around(self.function.body, found)
        return found

    @property
    def function(self) -> Function:
        return self.made.function

    def home(self, op: Op) -> Block:
        return next(block for block in _blocks(self.function.body) if op in block.ops)

    def add_store(self, position: int) -> None:
        """Find the op that stores a residual."""
        param = self.function.params[position]
        found = [op for op in self.function.walk() if isinstance(op, Store) and op.array is param]
        others = [op for op in self.function.walk() if param in op.operands and op not in found and op.effectful]
        if len(found) != 1 or others:
            place = (others or found)[-1].span if others or found else self.function.span
            raise TileUnsupportedFeatureError(
                f"{param.hint} cannot be a residual: it must be stored by one tw.store, and read by nothing", place,
                hints=["store it once, or leave it out of residuals"])
        self.stores[position] = found[0]

    def restart_loops(self) -> None:
        """Begin loops anew, one after the other, as long as there is one."""
        done: set[Op] = set()
        while True:
            shift = next((s for s in shifts(self.function, self.seeding()) if s.loop not in done), None)
            if shift is None or shift.loop is None:
                return
            done.add(shift.loop)
            self._restart(shift, shift.loop)

    def hold_extremes(self) -> None:
        """Make constants of the maxima of tiles that outputs do not depend on."""
        for shift in list(extremes(self.function, self.seeding())):
            home = self.home(shift.update)
            b = Emitter(Block())
            b.span = shift.update.span
            held = b.value(StopGradient(src=shift.result), shift.result.hint)
            for op in self.function.walk():
                op.replace_operands({shift.result: held})
            at = home.ops.index(shift.update) + 1
            home.ops[at:at] = b.block.ops

    def _restart(self, shift: Shift, loop: For) -> None:
        home, made = self.home(loop), self.made
        trips = trips_of(loop)
        found = next(filter(None, (self._start(shift, home, home.ops.index(loop), k) for k in self.stores)), None)
        if found is None and trips is not None and trips <= 2:
            return  # so few are recomputed at once
        start, ones, name = found or (None, [], "")
        became = restart(self.function.body, home, shift, start)
        for value in ones:
            value = became.get(value, value)
            made.saved[value] = self._one(home, value)
        made.decisions.append(decisions.restarted(loop.span, shift.before.hint, name))

    def _start(self, shift: Shift, home: Block, at: int, position: int) -> tuple[Value, list[Value], str] | None:
        """The maximum of a loop, from a residual that tells it."""
        store = self.stores[position]
        if store not in home.ops[at:]:
            return None
        b = Emitter(Block())
        b.span = store.span
        earlier = _Earlier(b, home, at)
        loaded = self._load(store, b, earlier)
        found = maximum_from(b, store.value, loaded, shift, earlier)
        if found is None or earlier.failed:
            return None
        home.ops[at:at] = b.block.ops
        self.made.loads.update(op for op in b.block.ops if isinstance(op, Load))
        return *found, self.function.params[position].hint

    def _one(self, home: Block, value: Value) -> Value:
        b = Emitter(home)
        made = b.constant(1.0, value.type.erased())
        home.ops.insert(0, home.ops.pop())
        return made

    def read(self, position: int) -> None:
        """Let what was stored be read, where it is not computed from what is at hand anyway."""
        store, name = self.stores[position], self.function.params[position].hint
        home = self.home(store)
        value, back = store.value, []
        while isinstance(value.op, (shape.Reshape, convert.Cast)) and value.op in home.ops and (
                value.op.src.type.dtype.is_float):
            back.append(value.op)
            value = value.op.src
        if value in self.made.saved or value.op is None or value.op not in home.ops:
            return
        if not _dear(value):
            self.made.decisions.append(decisions.residual(store.span, name, False))
            return
        at = home.ops.index(value.op)
        b = Emitter(Block())
        b.span = store.span
        earlier = _Earlier(b, home, at)
        loaded = self._load(store, b, earlier)
        for op in back:
            loaded = b.cast(b.reshape(loaded, op.src.type.shape), op.src.type.dtype)
        if earlier.failed:
            return
        home.ops[at:at] = b.block.ops
        self.made.loads.update(op for op in b.block.ops if isinstance(op, Load))
        self.made.saved[value] = loaded
        self.made.decisions.append(decisions.residual(store.span, name, True))

    def _load(self, store: Store, b: Emitter, earlier: _Earlier) -> Value:
        index = tuple(earlier(i) for i in store.index)
        return b.value(Load(
            array=store.array, index=index, shape=store.value.type.shape, steps=store.steps, order=store.order,
            padding=PaddingMode.ZERO, check_bounds=store.check_bounds), store.array.hint)


class _Earlier:
    """Gives values further up in a block than they are computed, by computing them again there."""

    def __init__(self, b: Emitter, home: Block, at: int) -> None:
        self.b = b
        self.later = {result: op for op in home.ops[at:] for result in op.results}
        self.now: dict[Value, Value] = {}
        self.failed = False

    def __call__(self, value: Value) -> Value:
        op: Any = self.later.get(value)
        if op is None:
            return value
        if op.blocks or op.effectful:
            self.failed = True
            return value
        if value not in self.now:
            for operand in op.operands:
                self(operand)
            self.b.block.ops.append(op.clone(self.now))
        return self.now[value]


def _blocks(block: Block) -> list[Block]:
    return [block, *(found for op in block.ops for inner in op.blocks for found in _blocks(inner))]


def _dear(value: Value) -> bool:
    """Whether a value is made by ops that cost more than reading it."""
    work, seen = [value], set[Value]()
    while work:
        one = work.pop()
        if one in seen or one.op is None:
            continue
        seen.add(one)
        if is_dear(one.op):
            return True
        work += one.op.operands
    return False
