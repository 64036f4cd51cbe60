"""The pipes of an SM, and for a loop the bound that each sets on the initiation interval.

An op has three times, all in cycles of the SM. Its *latency* passes until a dependent op can start; its *issue* time
keeps the thread from issuing; its *occupancy* keeps the pipe from taking another op. Iterations of a software pipeline
overlap, so that only the last one adds up: an iteration cannot start before the busiest pipe has done its share of the
one before. That sum is the bound on the initiation interval (Rau, "Iterative Modulo Scheduling", MICRO-27: ResMII).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tilewright.backend_ptx.ops.matmul import Product, padded
from tilewright.backend_ptx.ops.units import units_of
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.carried import innermost_loops
from tilewright.tileir.core import Function, Op
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.types import SharedType

TMA, TENSOR, FMA, MUFU, LSU = "TMA", "tensor cores", "FMA", "MUFU", "load/store"


@dataclass(frozen=True, slots=True)
class Pipe:
    """`rate`: what it does in a cycle: bytes (TMA, load/store), multiply-adds of 16-bit operands (tensor cores),
    results (FMA, MUFU). The occupancy of an op is its work divided by that. `latency` and `issue` are of one
    instruction."""

    name: str
    rate: float
    latency: int
    issue: int


# Rates. FMA, MUFU: CUDA C++ Programming Guide, "Arithmetic Instructions" (results per clock and SM). Load/store: 128
# bytes of shared memory a cycle (the same, "Shared Memory"). TMA: 64 bytes a cycle from L2 into an SM. Tensor cores:
# dense float16 peaks of the white papers (A100 312 TFLOP/s at 1.41 GHz on 108 SMs; A40 150 at 1.74 on 84; L40 181 at
# 2.49 on 142; H100 SXM 989 at 1.83 on 132; B200 2250 at 1.85 on 148; RTX PRO 6000 504 at 2.6 on 188).
# Latencies: arXiv 2206.02874 (mma.sync), 2402.13499 (wgmma m64n256k16, shared memory, L2). Issue: a warp instruction
# takes one slot of its scheduler, 32 lanes on 16 units two.
MUFU_RATE, SHARED_BYTES, TMA_BYTES = 16, 128, 64
SIXTEEN = 16  # bits of the operands for which the tensor cores' rate stands
MMA_LATENCY = 33  # of mma.sync
SCHEDULERS = 4  # of an SM, each with its part of every pipe


def pipes_of(target: Target) -> dict[str, Pipe]:
    """The pipes of an SM, by name."""
    groups = units_of(target)[0].warps > 1  # an MMA that several warps issue together
    found = [Pipe(TENSOR, target.mma_rate, 128 if groups else MMA_LATENCY, 1 if groups else 2),
             Pipe(FMA, target.fma_rate, 4, 128 // target.fma_rate), Pipe(MUFU, MUFU_RATE, 18, 2),
             Pipe(LSU, SHARED_BYTES, 29, 1)]
    if target.has_tma:
        found.append(Pipe(TMA, TMA_BYTES, 600, 1))
    return {pipe.name: pipe for pipe in found}


class Bound(NamedTuple):
    """Of one loop: the pipe that binds, and cycles of every pipe that an iteration of one CTA keeps busy."""

    loop: Op
    pipe: str
    cycles: dict[str, float]

    @property
    def interval(self) -> float:
        return self.cycles[self.pipe]


def bounds(function: Function, target: Target) -> list[Bound]:
    """The innermost loops of a machine function that work on tiles."""
    pipes = pipes_of(target)
    found = []
    for op in innermost_loops(function):
        cycles: dict[str, float] = {}
        for inner in op.inside():
            for name, work in _work(inner).items():
                if name in pipes and work:
                    cycles[name] = cycles.get(name, 0.0) + work / pipes[name].rate
        if cycles:
            found.append(Bound(op, max(cycles, key=lambda name: cycles[name]), cycles))
    return found


def _work(op: Op) -> dict[str, float]:
    """What an op asks of each pipe, in the units of its rate."""
    if isinstance(op, Product):
        return _multiply(op)
    effects = op.effects()
    started = [s for s in effects.starts if isinstance(s.memory.type, SharedType)]
    if started:
        name = TMA if started[0].engine.family == "TMA" else LSU
        return {name: sum(s.memory.type.bytes for s in started)}
    if not (op.elementwise or effects.reads or effects.writes):
        return {}
    tiles = [v for v in op.results if is_tile(v) and not is_uniform(v)]
    if op.elementwise and tiles:
        special = isinstance(op, Div) or (isinstance(op, FloatUnary) and op.converts)
        return {MUFU if special else FMA: float(sum(v.type.size for v in tiles))}
    if not (effects.reads or effects.writes):
        return {}
    moved = tiles or [v for v in op.operands if is_tile(v)]
    return {LSU: float(sum(v.type.bytes for v in moved))}


def _multiply(op: Product) -> dict[str, float]:
    depth = op.a.type.shape[-1]
    if op.unit.name == "fma":
        return {FMA: float(op.acc.type.size * depth)}
    count = float(padded(op) * max(depth, op.unit.depth(op)))
    return {TENSOR: count * op.a.type.dtype.bitwidth / SIXTEEN}


def takes_longer_than_operands(op: Product, target: Target) -> bool:
    """Whether the tensor cores take longer for an MMA than its operands take from L2 into the SM."""
    operands: int = op.a.type.bytes + op.b.type.bytes
    return _multiply(op).get(TENSOR, 0.0) / pipes_of(target)[TENSOR].rate > operands / TMA_BYTES


# ---- what computes one MMA ---------------------------------------------------------------------------------------


def tensor_cycles(tiles: int, steps: int, each: int, target: Target) -> float:
    """Of `steps` mma.sync along k, one after another, for each of some tiles of an accumulator. `each`: the
    multiply-adds of one instruction, times the bytes of an operand's element."""
    pipe = pipes_of(target)[TENSOR]
    work = -(-tiles // SCHEDULERS) * each * 8 / SIXTEEN / (pipe.rate / SCHEDULERS)
    return steps * max(MMA_LATENCY, work)


def fma_cycles(sizes: tuple[int, int, int], batch: int, each: int, wide: bool, target: Target) -> float:
    """Of the same by multiply-adds of threads, each of which owns up to four neighbouring columns. An operand's element
    of `each` bytes is loaded, which takes so many cycles of the pipe that all schedulers share, and converted if it is
    narrow; `wide` multiply-adds, of 64 bits, take twice as long."""
    m, n, k = sizes
    pipe, columns = pipes_of(target)[FMA], min(n, 4)
    sums = max(columns, batch * m * n // (32 * SCHEDULERS))
    work = sums * (1 + wide) * pipe.issue + (columns + sums // columns) * (each + (each < 4) * pipe.issue)
    return float(k * max(pipe.latency, work))
