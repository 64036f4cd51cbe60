"""mma.sync: D = A * B + C on the fragments of a warp (PTX ISA, "Matrix Fragments for mma").

Operands are the registers of A, then B, then C, which is tied to D. Packed elements travel as i32.
Name: `mma.<shape>.<accumulator>.<a>` and `.<b>` where the operands may differ: "mma.m16n8k16.f32.bf16",
"mma.m16n8k32.s32.s8.u8".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.backend_ptx.instructions.record import Instruction


@dataclass(frozen=True)
class _Shape:
    m: int
    n: int
    k: int
    a: int  # registers per thread
    b: int
    c: int

    @property
    def name(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"


def _mma(
    shape: _Shape, acc: str, a: str, b: str, kind: str, acc_kind: str, *, short: bool = False, sm: int = 80,
    ptx: int = 70,
) -> Instruction:
    def regs(first: int, count: int) -> str:
        return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"

    d, at, bt = regs(0, shape.c), regs(shape.c, shape.a), regs(shape.c + shape.a, shape.b)
    text = f"mma.sync.aligned.{shape.name}.row.col.{acc}.{a}.{b}.{acc} {d}, {at}, {bt}, {d};"
    first = shape.a + shape.b
    return Instruction(
        f"mma.{shape.name}.{acc}.{a}" + ("" if short else f".{b}"), text,
        (kind,) * first + (acc_kind,) * shape.c, (acc_kind,) * shape.c, "mma",
        {"shape": (shape.m, shape.n, shape.k), "acc": acc, "a": a, "b": b},
        tied={first + i: i for i in range(shape.c)}, convergent=True, sm=sm, ptx=ptx,
    )


def records() -> Iterator[Instruction]:
    k16, k8 = _Shape(16, 8, 16, 4, 2, 4), _Shape(16, 8, 8, 2, 1, 4)
    for dtype in ("f16", "bf16"):
        yield _mma(k16, "f32", dtype, dtype, "i32", "float", short=True)
        yield _mma(k8, "f32", dtype, dtype, "i32", "float", short=True)
    yield _mma(_Shape(16, 8, 16, 4, 2, 2), "f16", "f16", "f16", "i32", "i32", short=True)
    yield _mma(_Shape(16, 8, 8, 2, 1, 2), "f16", "f16", "f16", "i32", "i32", short=True)
    yield _mma(_Shape(16, 8, 8, 4, 2, 4), "f32", "tf32", "tf32", "i32", "float", short=True)
    yield _mma(_Shape(16, 8, 4, 2, 1, 4), "f32", "tf32", "tf32", "i32", "float", short=True)
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            yield _mma(_Shape(16, 8, 32, 4, 2, 4), "s32", a, b, "i32", "i32")
            yield _mma(_Shape(16, 8, 16, 2, 1, 4), "s32", a, b, "i32", "i32")
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            yield _mma(_Shape(16, 8, 32, 4, 2, 4), "f32", a, b, "i32", "float", sm=89, ptx=84)
            yield _mma(_Shape(16, 8, 32, 4, 2, 2), "f16", a, b, "i32", "i32", sm=89, ptx=87)
    yield _mma(_Shape(8, 8, 4, 1, 1, 2), "f64", "f64", "f64", "double", "double", short=True)
