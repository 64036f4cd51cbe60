"""A matrix product with warp roles, written by hand for the simulator's tests: TMA fills rings, wgmma reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.instructions.warpgroup import KINDS, wgmma, wgmma_wait_tied
from tilewright.backend_ptx.llvm.builder import Builder, Phi, Val
from tilewright.backend_ptx.simulator import TensorMapArgument, simulate_text
from tilewright.backend_ptx.simulator.numbers.floats import from_fp8

Body = Callable[[Val, Val, Val, Sequence[Val]], Sequence[Val]]
_SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}
SMEM = "@smem = external addrspace(3) global [0 x i8], align 1024"
# NumPy type that holds an element, and the bytes of one.
STORAGE: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "tf32": np.float32, "e4m3": np.uint8, "e5m2": np.uint8,
    "s8": np.int8, "u8": np.uint8,
}


def emit(b: Builder, name: str, *operands: Val) -> None:
    instruction(name).emit(b, *operands)


def descriptor(swizzle: int, leading: int, stride: int) -> int:
    """A matrix descriptor without its start address; offsets in bytes."""
    return _SWIZZLE_CODE[swizzle] << 62 | stride >> 4 << 32 | leading >> 4 << 16


@dataclass(frozen=True)
class Gemm:
    """C [M, N] = A B, one tile [64 * groups, n] per block, slots `depth` bytes deep along k.

    A is [M, K], or [K, M] with `a_trans`; B is [N, K], or [K, N] with `b_trans`. `pending` products may be in flight
    when a slot is released. `without` names steps that are left out, `numbers` replaces counts: defects.
    With `cluster` > 1 that many blocks, neighbours along M, share B: each copies its own A and a part of B's rows or
    columns to all of them.
    """

    kind: str = "bf16"
    n: int = 16
    groups: int = 1
    stages: int = 2
    swizzle: int = 128
    a_trans: bool = False
    b_trans: bool = False
    pending: int = 1
    pool: bool = False
    cluster: int = 1
    without: frozenset[str] = frozenset()
    numbers: tuple[tuple[str, int], ...] = ()

    def number(self, name: str, right: int) -> int:
        return dict(self.numbers).get(name, right)

    # ---- sizes ----

    @property
    def size(self) -> int:
        return int(np.dtype(STORAGE[self.kind.removesuffix("acc").split(".")[0]]).itemsize)

    @property
    def depth(self) -> int:
        """Elements along k of a slot."""
        return self.swizzle // self.size

    @property
    def rows(self) -> int:
        return 64 * self.groups

    @property
    def threads(self) -> int:
        return 128 * self.groups + (128 if self.pool else 32)

    def slot(self, rows: int) -> int:
        return -(-rows * self.swizzle // 1024) * 1024

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """Offsets of B's ring, the full and the empty mbarriers, and the end."""
        b = self.stages * self.slot(self.rows)
        full = b + self.stages * self.slot(self.n)
        return b, full, full + 8 * self.stages, full + 16 * self.stages

    def maps(self, a: np.ndarray, b: np.ndarray) -> tuple[TensorMapArgument, TensorMapArgument]:
        return self._map(a, self.rows, self.a_trans), self._map(b, self.n // self.cluster, self.b_trans)

    def _map(self, array: np.ndarray, rows: int, trans: bool) -> TensorMapArgument:
        """Rows of `swizzle` bytes along k, or along m or n."""
        if trans:
            return TensorMapArgument(array, (1, 0), (self.swizzle // self.size, self.depth), self.swizzle)
        return TensorMapArgument(array, (1, 0), (self.depth, rows), self.swizzle)

    # ---- the text ----

    def text(self) -> str:
        return _Kernel(self).text()

    def run(self, a: np.ndarray, b: np.ndarray, **how: Any) -> np.ndarray:
        m, k = a.shape[::-1] if self.a_trans else a.shape
        n = b.shape[1] if self.b_trans else b.shape[0]
        kind = KINDS[self.kind]
        out = np.zeros((m, n // kind.per_register), np.uint32 if kind.register == "i32" else np.float32)
        tiles = -(-m // self.rows)
        grid = (-(-tiles // self.cluster) * self.cluster, -(-n // self.n))
        args = [*self.maps(a, b), out, m, out.shape[1], k]
        simulate_text(self.text(), "k", grid, self.threads, args, self.parts[3], cluster=self.cluster, **how)
        if kind.acc == "f16":
            return out.view(np.float16)
        return out.view(np.int32) if kind.integer else out


class _Kernel:
    """Emits the kernel of a Gemm."""

    def __init__(self, gemm: Gemm) -> None:
        self.g, self.b = gemm, Builder()
        self.base: Val
        self.tid: Val

    def on(self, step: str) -> bool:
        return step not in self.g.without

    def i32(self, value: int) -> Val:
        return self.b.const("i32", value)

    def text(self) -> str:
        b, g = self.b, self.g
        self.tid = b.call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", [])
        self.base = b.cast("ptrtoint", Val("ptr addrspace(3)", 0, "@smem"), "i32")
        self.row0 = b.mul(b.call("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32", []), g.rows)
        self.column0 = b.mul(b.call("llvm.nvvm.read.ptx.sreg.ctaid.y", "i32", []), g.n)
        self.count = b.sdiv(b.add(Val("i32", 0, "%K"), g.depth - 1), g.depth)
        self.rank = self.i32(0)
        if g.cluster > 1:
            self.rank = b.call("llvm.nvvm.read.ptx.sreg.cluster.ctarank", "i32", [])
        self._initialise()
        producer, consumer, end = b.label("producer"), b.label("consumer"), b.label("end")
        b.cbr(b.icmp("ult", self.tid, 128 * g.groups), consumer, producer)
        b.start(producer)
        self._producer(end)
        b.start(consumer)
        self._consumer()
        b.br(end)
        b.start(end)
        if g.cluster > 1 and self.on("end sync"):
            emit(b, "cluster.sync")
        b.ret()
        one_map = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant"'
        params = f"{one_map} %A, {one_map} %B, ptr addrspace(1) %C, i32 %M, i32 %N, i32 %K"
        head = "\n".join(b.head())
        return f"{SMEM}\n{head}\ndefine ptx_kernel void @k({params}) #0 {{\n{b.text()}}}\n"

    def _initialise(self) -> None:
        b, g = self.b, self.g
        init, ready = b.label("init"), b.label("ready")
        b.cbr(b.icmp("eq", self.tid, 0), init, ready)
        b.start(init)
        for stage in range(g.stages):
            emit(b, "mbarrier.init", self._barrier("full", self.i32(stage)), self.i32(1))
            arrivals = g.number("arrivals", 4 * g.groups * g.cluster)
            emit(b, "mbarrier.init", self._barrier("empty", self.i32(stage)), self.i32(arrivals))
        if self.on("init fence"):
            emit(b, "fence.mbarrier_init")
        b.br(ready)
        b.start(ready)
        if self.on("init barrier"):
            emit(b, "bar.sync")
        if g.cluster > 1 and self.on("start sync"):
            emit(b, "cluster.sync")

    def _barrier(self, which: str, stage: Val) -> Val:
        offset = self.g.parts[1 if which == "full" else 2]
        return self.b.add(self.b.add(self.base, offset), self.b.mul(stage, 8))

    def _slot(self, which: str, stage: Val) -> Val:
        g = self.g
        start, rows = (0, g.rows) if which == "a" else (g.parts[0], g.n)
        return self.b.add(self.b.add(self.base, start), self.b.mul(stage, g.slot(rows)))

    def _loop(self, end: str, body: Body, first: Sequence[Val]) -> list[Val]:
        """for k in range(count): first = body(k, stage, parity, first); leaves at label `end`, which starts here."""
        b, g = self.b, self.g
        before, head = b.block, b.label("head")
        inside = b.label("body")
        b.br(head)
        b.start(head)
        phis: list[Phi] = [b.phi("i32") for _ in range(3)] + [b.phi(v.elem, v.n) for v in first]
        for phi, value in zip(phis, [self.i32(0)] * 3 + list(first), strict=True):
            phi.add(value, before)
        k, stage, parity, *carried = [p.value for p in phis]
        b.cbr(b.icmp("slt", k, self.count), inside, end)
        b.start(inside)
        after = body(k, stage, parity, carried)
        following = b.add(stage, 1)
        wraps = b.icmp("eq", following, g.stages)
        flipped = b.xor(parity, b.cast("zext", wraps, "i32")) if self.on("parity") else parity
        stage_after = b.select(wraps, self.i32(0), following) if self.on("advance") else stage
        for phi, value in zip(phis, [b.add(k, 1), stage_after, flipped, *after], strict=True):
            phi.add(value, b.block)
        b.br(head)
        b.start(end)
        return carried

    # ---- roles ----

    def _producer(self, end: str) -> None:
        b, g = self.b, self.g
        if g.pool:
            emit(b, "setmaxnreg.dec.40")
        first, done = b.label("first"), b.label("done")
        b.cbr(b.icmp("eq", self.tid, 128 * g.groups), first, done)
        b.start(first)
        self._loop(done, self._fill, [])
        b.br(end)

    def _fill(self, k: Val, stage: Val, parity: Val, _: Sequence[Val]) -> Sequence[Val]:
        b, g = self.b, self.g
        yes = Val("i1", 0, "true")
        if self.on("empty wait"):
            emit(b, "mbarrier.wait", self._barrier("empty", stage), b.xor(parity, g.number("empty parity", 1)))
        full = self._barrier("full", stage)
        expected = g.number("bytes", (g.rows + g.n) * g.swizzle)
        emit(b, "mbarrier.expect_tx", full, self.i32(expected), yes)
        k0 = b.mul(k, g.depth)
        self._copy("A", self._slot("a", stage), full, k0, self.row0, g.rows, g.a_trans)
        if g.cluster == 1:
            self._copy("B", self._slot("b", stage), full, k0, self.column0, g.n, g.b_trans)
        else:
            self._share(self._slot("b", stage), full, k0)
        return []

    def _share(self, slot: Val, full: Val, k0: Val) -> None:
        """This block's part of B, to all blocks."""
        b, g = self.b, self.g
        rows = g.n // g.cluster
        part, place = ((self.rank if self.on(step) else self.i32(0)) for step in ("own part", "own place"))
        if not self.on("parts in order"):
            part = b.sub(g.cluster - 1, part)
        to = b.add(slot, b.mul(place, rows * g.swizzle))
        mask = g.number("mask", (1 << g.cluster) - 1)
        self._copy("B", to, full, k0, b.add(self.column0, b.mul(part, rows)), rows, g.b_trans, mask)

    def _copy(
        self, name: str, to: Val, full: Val, k0: Val, start: Val, rows: int, trans: bool, mask: int = 0
    ) -> None:
        """Copy a tile; to the blocks of the mask if there is one."""
        b, g = self.b, self.g
        source, yes = Val("ptr", 0, f"%{name}"), Val("i1", 0, "true")
        record, last = ("tma.load.multicast.2d", [b.const("i16", mask), yes]) if mask else ("tma.load.2d", [yes])
        if not trans:
            emit(b, record, to, source, full, k0, start, *last)
            return
        per = g.swizzle // g.size
        for piece in range(rows // per):
            place = b.add(to, piece * g.depth * g.swizzle)
            emit(b, record, place, source, full, b.add(start, piece * per), k0, *last)

    def _consumer(self) -> None:
        b, g = self.b, self.g
        kind = KINDS[g.kind]
        if g.pool:
            emit(b, "setmaxnreg.inc.232")
        self.lane0 = b.icmp("eq", b.and_(self.tid, 31), 0)
        self.group = b.lshr(self.tid, 7)
        registers = kind.registers(g.n)
        start = b.const("i32" if kind.register == "i32" else "float", 0, registers)
        (acc,) = self._loop(b.label("drained"), self._multiply, [start])
        tied = wgmma_wait_tied(0, registers) if kind.register == "float" else wgmma_wait_tied(0, 0, registers)
        values = [b.extract(acc, i) for i in range(registers)]
        if self.on("last wait"):
            values = list(tied.emit(b, *values))
        self._write(values)

    def _multiply(self, k: Val, stage: Val, parity: Val, carried: Sequence[Val]) -> Sequence[Val]:
        b, g = self.b, self.g
        if self.on("full wait"):
            emit(b, "mbarrier.wait", self._barrier("full", stage), parity)
        if self.on("wgmma fence"):
            emit(b, "wgmma.fence")
        steps = self.g.depth // KINDS[g.kind].k
        record = wgmma(g.n, g.kind, g.a_trans, g.b_trans, steps)
        operands: list[Val] = []
        for step in range(steps):
            operands += [self._describe("a", stage, step, g.a_trans), self._describe("b", stage, step, g.b_trans)]
        scale = b.cast("zext", b.icmp("ne", k, 0), "i32")
        words = [b.extract(carried[0], i) for i in range(carried[0].n)]
        out = record.emit(b, *words, *operands, scale)
        if self.on("commit"):
            emit(b, "wgmma.commit")
        if self.on("wait"):
            emit(b, f"wgmma.wait.{g.pending}")
        self._release(k, stage)
        return [b.vector(out)]

    def _release(self, k: Val, stage: Val) -> None:
        """The slot whose product is complete: this one, or the one before."""
        b, g = self.b, self.g
        if not self.on("release"):
            return
        chosen, slot = self.lane0, stage
        if g.pending and self.on("late release"):
            chosen = b.and_(chosen, b.icmp("sgt", k, 0))
            slot = b.select(b.icmp("eq", stage, 0), self.i32(g.stages - 1), b.sub(stage, 1))
        if self.on("warp barrier"):
            emit(b, "bar.warp.sync")
        empty = self._barrier("empty", slot)
        if g.cluster == 1 or not self.on("remote release"):
            emit(b, "mbarrier.arrive", empty, chosen)
            return
        for block in range(g.cluster):
            emit(b, "mbarrier.arrive.remote", empty, self.i32(block), chosen)

    def _describe(self, which: str, stage: Val, step: int, trans: bool) -> Val:
        """The descriptor of a step's operand."""
        b, g = self.b, self.g
        pattern = g.number(f"{which} stride", 8 * g.swizzle)
        code = g.number(f"{which} swizzle", g.swizzle)
        start = self._slot(which, stage)
        piece = g.depth * g.swizzle  # bytes of a slot's piece, where rows run along m or n
        if which == "a":
            rows = 64 // (g.swizzle // g.size) * piece if trans else 64 * g.swizzle
            start = b.add(start, b.mul(self.group, rows))
        offset = KINDS[g.kind].k * g.swizzle * step if trans else 32 * step
        place = b.lshr(b.and_(b.add(start, offset), 0x3FFFF), 4)
        high = descriptor(code, g.number(f"{which} leading", piece) if trans else 16, pattern)
        return b.or_(b.cast("zext", place, "i64"), b.const("i64", high - (1 << 64) if high >> 63 else high))

    def _write(self, values: Sequence[Val]) -> None:
        """Every thread stores what it has of C; N counts registers of C's rows."""
        b, g = self.b, self.g
        kind = KINDS[g.kind]
        per = kind.per_register
        lane = b.and_(self.tid, 31)
        row = b.add(b.add(self.row0, b.mul(b.lshr(self.tid, 5), 16)), b.lshr(lane, 2))
        columns = b.add(b.sdiv(self.column0, per), b.mul(b.and_(lane, 3), 2 // per))
        pointer = Val("ptr addrspace(1)", 0, "%C")
        limit_m, limit_n = Val("i32", 0, "%M"), Val("i32", 0, "%N")
        for i, value in enumerate(values):
            e = i * per
            r = b.add(row, 8 * (e // 2 % 2))
            c = b.add(columns, (8 * (e // 4) + e % 2) // per)
            inside = b.and_(b.icmp("slt", r, limit_m), b.icmp("slt", c, limit_n))
            at = b.gep(pointer, b.mul(b.add(b.mul(r, limit_n), c), 4))
            word = b.bitcast(value, "i32")
            emit(b, "st.global.b32", at, inside, word)


def operands(g: Gemm, m: int, n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B (with rows of a multiple of 16 bytes) and the exact product as float64."""
    rng = np.random.default_rng(seed)
    kinds = g.kind.removesuffix("acc").split(".") * 2
    a, b = _random(rng, (m, k), kinds[0]), _random(rng, (k, n), kinds[1])
    exact = _numbers(a, kinds[0]) @ _numbers(b, kinds[1])
    return _padded(a.T if g.a_trans else a), _padded(b if g.b_trans else b.T), exact


def _random(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> np.ndarray:
    if kind in ("e4m3", "e5m2"):
        # 1, 1.5 and 2 as e4m3, 0.5, 1 and 2 as e5m2: sums of so few bits are exact on the tensor cores of sm_90, too.
        return (rng.choice([0x38, 0x3C, 0x40], shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)
    return rng.integers(0 if kind == "u8" else -4, 5, shape).astype(STORAGE[kind])


def _numbers(x: np.ndarray, kind: str) -> np.ndarray:
    return np.asarray(from_fp8(x, kind) if kind in ("e4m3", "e5m2") else x, np.float64)


def _padded(x: np.ndarray) -> np.ndarray:
    """The same matrix, row-major with rows of a multiple of 16 bytes."""
    per = 16 // x.itemsize
    wide = np.zeros((x.shape[0], -(-x.shape[1] // per) * per), x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]
