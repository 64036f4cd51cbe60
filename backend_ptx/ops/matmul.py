"""Matrix multiplies (MMAs) after the instruction was chosen, and the questions that passes ask of any of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from tilewright.backend_ptx.layouts.fragments import fragment_of
from tilewright.backend_ptx.layouts.mma import ProductLayouts, block_layouts, fragment_layouts
from tilewright.backend_ptx.ops.units import MatrixUnit
from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.engines import THREADS
from tilewright.tileir.types import Type

FMA_STEP = 4  # a 16-byte vector of float32 along k


class Product(Op):
    """a @ b + acc. a: [..., M, K], b: [..., K, N], acc: [..., M, N], batch axes equal. `unit` computes it."""

    unit: ClassVar[MatrixUnit]
    a: Value = operand()
    b: Value = operand()
    acc: Value = operand()

    @property
    def scales(self) -> tuple[Value, ...]:
        """What scales a and b, where the op has that: one for each run of elements along K."""
        return tuple(getattr(self, name) for name in ("a_scale", "b_scale") if name in self.fields)

    @property
    def in_parts(self) -> bool:
        """Whether the MMA starts part by part, each behind the wait for that part of the iteration before."""
        return False

    def start_in_parts(self, wide: Value) -> bool:
        """Whether the MMA starts part by part from here on, and casts a from `wide` by itself."""
        return False

    def infer(self) -> tuple[Type, ...]:
        a, b, acc = self.a.type.shape, self.b.type.shape, self.acc.type.shape
        ok = len(a) == len(b) == len(acc) >= 2 and a[:-2] == b[:-2] == acc[:-2]
        ok = ok and (a[-2], b[-1], a[-1]) == (acc[-2], acc[-1], b[-2])
        require(ok, f"{self.opcode}: shapes do not fit: {self.a.type}, {self.b.type}, {self.acc.type}")
        return (self.acc.type.erased(),)


def padded(op: Product) -> int:
    """Elements of the accumulator as instructions have them, whose shorter side is 8."""
    return int(op.acc.type.size // min(8, *op.acc.type.shape[-2:]) * 8)


def is_outstanding(op: Op | None) -> bool:
    """Whether an op starts an MMA that is outstanding until a wait."""
    return isinstance(op, Product) and op.unit.asynchronous


def left_outstanding(op: Op) -> int | None:
    """How many MMAs an op that waits for them leaves outstanding at most; None for any other op."""
    if not op.awaiting or isinstance(op, Product):  # which waits for nothing, though it says its effects by itself
        return None
    return next((wait.pending for wait in op.effects().completes if wait.engine.multiplies), None)


def covering_wait(following: Iterable[Op]) -> Op | None:
    """The first of the ops that follow an MMA in its block after which this MMA is complete, as MMAs end in order."""
    started = 0
    for op in following:
        left = left_outstanding(op)
        if left is not None and left <= started:
            return op
        started += is_outstanding(op)
    return None


def starts_ahead(ops: Sequence[Op]) -> bool:
    """Whether an iteration waits at its end for some of its MMAs and leaves the others outstanding: it has started the
    next one's first."""
    products = [i for i, op in enumerate(ops) if is_outstanding(op)]
    behind = ops[products[-1]:] if products else ()
    left = min((n for op in behind if (n := left_outstanding(op)) is not None), default=0)
    return 0 < left < len(products)


def waits_for(products: Iterable[Op], pending: int = 0) -> list[Op]:
    """The waits, one for each unit, after which at most `pending` of these MMAs are outstanding: none behind an MMA
    that has waited for the one before it, part by part."""
    units = {op.unit: op.span for op in products if isinstance(op, Product) and op.unit.asynchronous
             and not (pending and op.in_parts)}
    return [unit.wait_for(pending=pending, span=span) for unit, span in units.items()]


def _fragment_layouts(op: MmaSync, warps: int, rows_only: bool) -> ProductLayouts:
    acc, k, fragment = op.acc.type.shape, op.a.type.shape[-1], fragment_of(op.instruction)
    if op.swapped:  # its rows are the short axis, which warps do not divide
        return fragment_layouts((*acc[:-2], acc[-1], acc[-2]), k, fragment, warps).turned()
    return fragment_layouts(acc, k, fragment, warps, rows_only)


class MmaSync(Product, opcode="mma_sync", collective=True):
    """By tensor cores: `instruction` names a record of backend_ptx/instructions/tensor_core.py. `swapped`: it computes
    the transpose, b^T a^T, whose short axis is n."""

    unit = MatrixUnit(
        "mma.sync", THREADS, depth=lambda op: fragment_of(op.instruction).k, layouts=_fragment_layouts,
        describe=lambda op: f"{op.instruction}{' on the transposes' if op.swapped else ''}")
    instruction: str = attribute()
    swapped: bool = attribute(default=False)


class MmaScaledSync(MmaSync, opcode="mma_scaled_sync", collective=True):
    """(a * a_scale) @ (b * b_scale) + acc by tensor cores, which scale the sum of each run along K."""

    a_scale: Value = operand()
    b_scale: Value = operand()


class MmaFma(Product, opcode="mma_fma"):
    """By multiply-adds of each thread, in the dtype of acc: float32, float64 or int32 operands."""

    unit = MatrixUnit(
        "fma", THREADS, depth=lambda op: min(int(op.a.type.shape[-1]), FMA_STEP),
        layouts=lambda op, warps, rows_only: block_layouts(op.acc.type.shape, op.a.type.shape[-1], warps),
        describe=lambda op: "multiply-adds of each thread")
