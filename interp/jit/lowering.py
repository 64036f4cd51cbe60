"""The closures of a function, with loops in place of runs of element-wise ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.memory import tile_target
from tilewright.interp.jit import POLICY
from tilewright.interp.jit import arith as _arith  # noqa: F401  (these three fill the table)
from tilewright.interp.jit import convert as _convert  # noqa: F401
from tilewright.interp.jit import math as _math  # noqa: F401
from tilewright.interp.jit.emit import Emitter, Name, emit, may_doubt, memory
from tilewright.interp.jit.engine import usable
from tilewright.interp.jit.folds import Fold
from tilewright.interp.jit.groups import Group, find_groups
from tilewright.interp.jit.loops import FastLoop, may_write
from tilewright.interp.jit.pieces import settle
from tilewright.interp.jit.products import splits
from tilewright.interp.liveness import deaths, peak_bytes
from tilewright.interp.lowering import Lowering, Step
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arith, matmul
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.tensor_cores import TensorCores


class LoopLowering(Lowering):
    """As `Lowering`, with loops.

    `pieces`: may closures compute parts of a chunk? Not where steps among them want to see all of it.
    """

    pieces: ClassVar[bool] = True

    def __init__(
        self, function: Function, axes: frozenset[int], copied: frozenset[int], dependences: Dependences,
        thin: Mapping[Value, int] | None = None, numerics: TensorCores | None = None,
    ) -> None:
        self._users: dict[Value, list[Op]] = {}
        for op in function.walk():
            for value in op.operands:
                self._users.setdefault(value, []).append(op)
        loads = (op for op in function.walk() if isinstance(op, Load))
        self._nowhere = {op.result for op in loads if self._is_view(op, copied, dependences)}
        self._certain = True
        self._runs: list[Run] = []
        super().__init__(function, axes, copied, dependences, thin, numerics)
        # What is the same for all blocks is there once.
        self._nowhere.update(v for op in function.walk() for v in op.results if not self.varies(v))
        self._peak = peak_bytes(function, self._nowhere)

    @property
    def peak(self) -> int | None:
        return self._peak if self._certain and all(run.compiled for run in self._runs) else None

    def steps(self, block: Block) -> list[tuple[Step, Op]]:
        order = self._groups(block.ops)
        flat = [op for item in order for op in (item.ops if isinstance(item, Group) else [item])]
        dying = dict(zip(flat, deaths(flat), strict=True))
        pairs: list[tuple[Step, Op]] = []
        done: Op | None = None
        for item, after in zip(order, [*order[1:], None], strict=True):
            if isinstance(item, Group):
                closures = self.sequence(item.ops, dying)
                store = after if isinstance(after, Store) and self._stores(item, after) else None
                if not item.pays(store is not None):
                    pairs += closures
                    continue
                run = self._run(item, closures, dying)
                self._runs.append(run)
                self._count(item, store)
                step: Step = run
                if store is not None:
                    done = store
                    step = _stored(run, tile_target(store, self), [s for s, _ in self.sequence([store], dying)])
                pairs.append((step, item.ops[0]))
            elif item is not done:
                pairs += self.sequence([item], dying)
        return pairs

    def _groups(self, ops: Sequence[Op]) -> list[Op | Group]:
        """Ops and groups in an order. Sums of products stand apart where others are in their group."""
        apart = splits(ops) if self.pieces and self.numerics is None else {}
        self._varying.update(first.result for op, (first, _) in apart.items() if any(map(self.varies, (op.a, op.b))))
        order = self._grouped(ops, apart)
        alone = {item.ops[0] for item in order if isinstance(item, Group) and len(item.ops) == 1}
        if any(total in alone for _, total in apart.values()):
            apart = {op: parts for op, parts in apart.items() if parts[1] not in alone}
            order = self._grouped(ops, apart)
        for op, (first, total) in apart.items():
            for value in dict.fromkeys(op.operands):
                self._users[value] = [user for user in self._users[value] if user is not op]
            for value, user in ((op.a, first), (op.b, first), (op.acc, total)):
                self._users[value].append(user)
            self._users[first.result] = [total]
        return order

    def _grouped(self, ops: Sequence[Op], apart: Mapping[matmul.Mma, tuple[Op, Op]]) -> list[Op | Group]:
        flat = [part for op in ops for part in (apart[op] if isinstance(op, matmul.Mma) and op in apart else (op,))]
        return find_groups(flat, self.varies, self.thin, self.pieces)

    @staticmethod
    def _is_view(op: Load, copied: frozenset[int], dependences: Dependences) -> bool:
        """Is the tile a view of memory, where it lies inside the array?"""
        return format_of(op.array.type.dtype).plain and copied.isdisjoint(dependences.parameters(op.array))

    def _count(self, group: Group, store: Store | None) -> None:
        """What a loop computes lies nowhere, unless another op needs it. Where a doubt sends a whole chunk to the
        closures, chunks must stay small."""
        self._certain = self._certain and (self.pieces or not any(map(may_doubt, group.ops)))
        results = [op.results[0] for op in group.ops]
        self._nowhere.update(v for v in results if store is not None or not self._stays(v, group))

    def _stores(self, group: Group, after: Store) -> bool:
        """Does the next op store the only value that leaves a group, which nothing else needs?"""
        if group.thin is not None or not format_of(after.value.type.dtype).plain:
            return False
        if self.shadows(after.index):
            return False  # a step of its own looks at them
        leaving = [op.results[0] for op in group.ops if self._stays(op.results[0], group)]
        return leaving == [after.value] and len(self._users[after.value]) == 1

    def _run(self, group: Group, closures: list[tuple[Step, Op]], dying: dict[Op, list[Value]]) -> Run:
        inside = {op.results[0] for op in group.ops}
        needed = dict.fromkeys(v for op in group.ops for v in op.operands)
        sources = [v for v in needed if v not in inside and not isinstance(v.op, arith.Constant)]
        results = [op.results[0] for op in group.ops if self._stays(op.results[0], group)]
        results.sort(key=lambda v: v.op in group.folds)  # those of reductions come last
        gone = self.slot_list(v for op in group.ops for v in dying[op] if v not in inside)
        return Run(self, group, sources, results, [step for step, _ in closures], gone)

    def behind(self, group: Group) -> list[Step] | None:
        """What computes those of a group's values, where it needs no values but those that leave the group."""
        return None

    def shadows(self, values: Iterable[Value]) -> tuple[int, ...]:
        """Registers that say more of these values, in which loops know nothing but None."""
        return ()

    def _stays(self, value: Value, group: Group) -> bool:
        """Does a value of a group need memory: for what uses it outside of the group, or for a reduction?"""
        return any(user not in group.members or user in group.folds for user in self._users.get(value, ()))


def _count(chunk: Chunk, group: Group) -> int:
    """Along how many blocks the values of a group are held."""
    if group.thin is not None:
        assert chunk.sides is not None
        return chunk.sides[group.thin]
    return chunk.count if group.varies else 1


def _stored(run: Run, target: Callable[[Regs], Any], store: Sequence[Step]) -> Step:
    """A group and the store of its only result: the loop writes to the array itself where it can."""
    def step(regs: Regs) -> None:
        if run.writes(regs, target):
            return
        run(regs)
        for each in store:
            each(regs)
    return step


class Run:
    """A group as a step: closures at first, and for few elements; a loop when it has cost enough."""

    def __init__(self, low: LoopLowering, group: Group, sources: Sequence[Value], results: Sequence[Value],
                 closures: Sequence[Step], gone: Sequence[int]) -> None:
        self._group = group
        self._values = sources, results
        self._sources, self._results, self._gone = low.slot_list(sources), low.slot_list(results), gone
        self._closures = closures
        self._unsure, self._sure = low.shadows(sources), low.shadows(results)
        self._behind = low.behind(group) if self._unsure else None
        self._cut = [low.varies(v) for v in sources] if low.pieces and group.varies else None
        self._size = 1
        for n in group.shape:
            self._size *= n
        self._work = 0
        self._loop: FastLoop | None = None
        self._kept: list[object] = []  # tables that the code points to

    def __call__(self, regs: Regs) -> None:
        unsure = self._is_unsure(regs)
        shape = None if unsure and self._behind is None else self._shape(regs[0])
        if shape is not None:
            assert self._loop is not None
            operands = [regs[s] for s in self._sources]
            found = self._loop(shape, operands)
            if found is None and self._cut is not None:
                found = self._settled(regs, shape, operands, self._loop.room(shape))
            if found is not None:
                for s, value in zip(self._results, found, strict=True):
                    regs[s] = value
                for s in self._sure:
                    regs[s] = None
                for step in self._behind or () if unsure else ():
                    step(regs)
                self._release(regs)
                return
        for step in self._closures:
            step(regs)

    @property
    def compiled(self) -> bool:
        """Is there a loop?"""
        return self._loop is not None

    def writes(self, regs: Regs, target: Callable[[Regs], Any]) -> bool:
        """Execute as a loop that writes the only result to memory; False where it cannot, or is in doubt."""
        shape = None if self._loop is None or self._is_unsure(regs) else self._shape(regs[0])
        out = None if shape is None else target(regs)
        if out is None or not may_write(out):
            return False
        assert self._loop is not None and shape is not None
        operands = [regs[s] for s in self._sources]
        found = self._loop(shape, operands, (), (out,))
        if found is None and self._cut is not None:
            found = self._settled(regs, shape, operands, (out,))
        if found is not None:
            self._release(regs)
        return found is not None

    def _settled(
        self, regs: Regs, shape: tuple[int, ...], operands: list[Any], results: Sequence[Any]
    ) -> Sequence[Any]:
        """The results where the loop is in doubt of some elements."""
        def exact(parts: Sequence[Any]) -> list[Any]:
            sub = regs.copy()
            for s, part in zip(self._sources, parts, strict=True):
                sub[s] = part
            for step in self._closures:
                step(sub)
            return [sub[s] for s in self._results]

        assert self._loop is not None and self._cut is not None
        settle(self._loop, shape, operands, self._cut, results, exact)
        return results

    def _is_unsure(self, regs: Regs) -> bool:
        """Is more to be said of an operand than its value?"""
        for s in self._unsure:  # noqa: SIM110  (most groups have none)
            if regs[s] is not None:
                return True
        return False

    def _shape(self, chunk: Chunk) -> tuple[int, ...] | None:
        """The shape of the group's values where a loop computes them; None where closures do."""
        count = _count(chunk, self._group)
        if self._size * count < POLICY.elements or not (self._loop or self._pays(self._size * count)):
            return None
        return (count, *self._group.shape) if self._group.varies else self._group.shape

    def _release(self, regs: Regs) -> None:
        for s in self._gone:
            regs[s] = None

    def _pays(self, elements: int) -> bool:
        self._work += (elements + POLICY.call) * len(self._group.ops)
        if self._work < POLICY.work or not usable():
            return False
        sources, results = self._values
        values = [*sources, *results]
        held_each = [v for v in values if v.op not in self._group.folds]
        types = [memory(v.type.dtype) for v in held_each]
        held = [format_of(v.type.dtype).held for v in held_each]
        e = Emitter()
        self._write(e, [f"%x{k}" for k in range(len(sources))])
        folded = [v.op for v in results if v.op in self._group.folds]
        folds = [(results.index(op.operands[0]), Fold(op, f"fold{k}")) for k, op in enumerate(folded) if op is not None]
        self._loop = FastLoop(types, held, len(sources), lambda names: self._body(e), e.declared, 0, folds)
        return True

    def _write(self, e: Emitter, names: Sequence[Name]) -> None:
        """The code of all ops; `e.values` then names what each gives."""
        sources, _ = self._values
        for value, name in zip(sources, names, strict=True):
            e.values[value] = e(f"trunc i8 {name} to i1") if value.type.dtype.is_bool else name
        for op in self._group.ops:
            if op in self._group.folds:
                continue
            for value in op.operands:
                if value not in e.values and value.op is not None:
                    emit(value.op, e)  # a constant
            emit(op, e)
        self._kept = e.tables

    def _body(self, e: Emitter) -> tuple[list[str], list[str], str]:
        out = []
        lines = list(e.lines)
        for k, value in enumerate(v for v in self._values[1] if v.op not in self._group.folds):
            name = e.values[value]
            if value.type.dtype.is_bool:
                lines.append(f"  %b{k} = zext i1 {name} to i8")
                name = f"%b{k}"
            out.append(name)
        return lines, out, e.doubt
