"""mma.sync: D = A * B + C on the fragments of a warp (PTX ISA, "Matrix Fragments for mma"); conversions to tfloat32.

Operands are the registers of A, then B, then C, which is tied to D. Packed elements travel as i32.
Name: `mma.<shape>.<accumulator>.<a>` and `.<b>` where the operands may differ: "mma.m16n8k16.f32.bf16",
"mma.m16n8k32.s32.s8.u8". Block-scaled: `mma.block_scale.<a and b>.<scale>.<elements of a scale>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewright.backend_ptx.instructions.record import Instruction, braced

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
         "e2m1": 4}
_REGISTER = {"f32": "float", "f64": "double"}  # of numbers that are not packed; else i32


def _mma(m: int, n: int, k: int, acc: str, a: str, b: str, *, sm: int = 80, ptx: int = 70, kind: str = "",
         scale: str = "", runs: int = 0) -> Instruction:
    """`scale`, the dtype of scales, if there are any: words of A's and of B's are two more operands behind B.

    A word has a byte for each of the `runs` along k, the lowest first. Lane l has those of row l/4 (l%4 = 0) or l/4 + 8
    (l%4 = 1) of A, and of column l/4 (l%4 = 0) of B.
    """
    per_lane = 32 * max(32, _BITS[a])  # bits of a register of every lane
    a_count, b_count = m * k * _BITS[a] // per_lane, n * k * _BITS[b] // per_lane
    count, first = m * n * _BITS[acc] // per_lane, a_count + b_count + (2 if scale else 0)

    d, shape = braced(0, count), f"m{m}n{n}k{k}"
    given, accs = (_REGISTER.get(a, "i32"),) * first, (_REGISTER.get(acc, "i32"),) * count
    name = f"block_scale.{a}.{scale}.{k // runs}" if scale else f"{shape}.{acc}.{a}{f'.{b}' if _BITS[a] == 8 else ''}"
    scales = "".join(f", {{${count + first + i}}}, {{0, 0}}" for i in (-2, -1)) if scale else ""
    return Instruction(
        f"mma.{name}", f"mma.sync.aligned.{f'kind::{kind}.block_scale.scale_vec::{runs}X.' if scale else ''}{shape}"
        f".row.col.{acc}.{a}.{b}.{acc}{f'.u{scale}' if scale else ''} "
        f"{d}, {braced(count, a_count)}, {braced(count + a_count, b_count)}, {d}{scales};",
        (*given, *accs), accs, "mma", {"shape": (m, n, k), "acc": acc, "a": a, "b": b, "scale": scale, "scales": runs},
        tied={first + i: i for i in range(count)}, convergent=True, sm=sm, ptx=ptx, exact=bool(scale))


def records() -> Iterator[Instruction]:
    for k in (16, 8):
        yield _mma(16, 8, k, "f32", "f16", "f16")
        yield _mma(16, 8, k, "f32", "bf16", "bf16")
        yield _mma(16, 8, k, "f16", "f16", "f16")
        yield _mma(16, 8, k // 2, "f32", "tf32", "tf32")
        for a, b in product(("s8", "u8"), repeat=2):
            yield _mma(16, 8, 2 * k, "s32", a, b)
    for a, b in product(("e4m3", "e5m2"), repeat=2):
        yield _mma(16, 8, 32, "f32", a, b, sm=89, ptx=84)
        yield _mma(16, 8, 32, "f16", a, b, sm=89, ptx=87)
    yield _mma(8, 8, 4, "f64", "f64", "f64")
    for kind, runs, k, a, scale in (("mxf8f6f4", 1, 32, "e4m3", "e8m0"), ("mxf8f6f4", 1, 32, "e5m2", "e8m0"),
                                    ("mxf4nvf4", 2, 64, "e2m1", "e8m0"), ("mxf4nvf4", 4, 64, "e2m1", "e4m3")):
        yield _mma(16, 8, k, "f32", a, a, sm=120, ptx=87, kind=kind, scale=scale, runs=runs)
    # To tfloat32, ties away from zero (the only rounding that every target has) or to even.
    yield Instruction("cvt.rna.tf32.f32", "cvt.rna.tf32.f32 $0, $1;", ("float",), ("i32",), "to_tf32", {"even": False})
    yield Instruction("cvt.rn.tf32.f32", "cvt.rn.tf32.f32 $0, $1;", ("float",), ("i32",), "to_tf32", {"even": True},
                      sm=90, ptx=78)
    # A float32 with the bits of a bfloat16: the upper half of a pair, whose lower one is 0.
    yield Instruction("cvt.rn.bf16.f32", "cvt.rn.bf16x2.f32 $0, $1, 0f00000000;", ("float",), ("i32",), "to_bf16")
