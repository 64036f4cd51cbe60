"""Matrix products of warpgroups (wgmma): operands in shared memory, started and waited for like copies.

PTX ISA 9.7.15. A warpgroup is four warps; its accumulators are registers that nobody may touch until a wait. In program
order a product happens at once and a wait hands its value on.
"""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.types import SharedType, TileType, Type


class Stage(Op, opcode="stage"):
    """The tile in a buffer of shared memory of its own, where the result type's layout puts its elements."""

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        return (SharedType(self.src.type.dtype, self.src.type.shape),)


class SharedView(Op, opcode="shared_view"):
    """Slot `slot` of a ring as a buffer of its own, its axes permuted: axis i of the view is axis axes[i] of the slot."""

    buffer: Value = operand()
    slot: Value = operand()
    axes: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        buffer = self.buffer.type
        ok = isinstance(buffer, SharedType) and sorted(self.axes) == list(range(len(buffer.shape)))
        require(ok, f"shared_view: axes {self.axes} of {buffer}")
        return (SharedType(buffer.dtype, tuple(buffer.shape[a] for a in self.axes)),)


class ProxyFence(Op, opcode="proxy_fence", io=True):
    """What this thread stored in shared memory is visible to tensor cores and bulk copies from the next barrier on."""

    def infer(self) -> tuple[Type, ...]:
        return ()


class Wgmma(Op, opcode="wgmma", collective=True, io=True, reads="a b"):
    """Start a @ b + acc. a [M, K]: a tile in registers or a buffer; b [K, N]: a buffer; acc [M, N].

    Until a `wgmma_wait` covers it, only another wgmma may take the result, as its acc.
    """

    a: Value = operand()
    b: Value = operand()
    acc: Value = operand()
    instruction: str = attribute()

    def infer(self) -> tuple[Type, ...]:
        a, b, acc = self.a.type, self.b.type, self.acc.type
        ok = isinstance(b, (SharedType, TileType)) and a.shape[-1] == b.shape[-2]
        ok = ok and (*a.shape[:-1], b.shape[-1]) == acc.shape
        require(ok, f"wgmma: shapes do not fit: {a}, {b}, {acc}")
        return (acc.erased(),)


class WgmmaWait(Op, opcode="wgmma_wait", collective=True, io=True):
    """The value of an accumulator when at most the newest `pending` products of the thread are still running."""

    acc: Value = operand()
    pending: int = attribute(default=0)

    def infer(self) -> tuple[Type, ...]:
        return (self.acc.type.erased(),)
