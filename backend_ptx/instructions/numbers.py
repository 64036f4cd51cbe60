"""Conversions and approximate functions that have one instruction but no reliable LLVM spelling."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.backend_ptx.instructions.record import Instruction

_APPROXIMATE = {
    "ex2": ("ex2.approx.f32", "ex2.approx.ftz.f32"), "lg2": ("lg2.approx.f32", "lg2.approx.ftz.f32"),
    "rcp": ("rcp.approx.f32", "rcp.approx.ftz.f32"), "rsqrt": ("rsqrt.approx.f32", "rsqrt.approx.ftz.f32"),
    "sqrt": ("sqrt.approx.f32", "sqrt.approx.ftz.f32"), "sin": ("sin.approx.f32", "sin.approx.ftz.f32"),
    "cos": ("cos.approx.f32", "cos.approx.ftz.f32"), "tanh": ("tanh.approx.f32",),
}


def _conversions() -> Iterator[Instruction]:
    # The first source of cvt goes to the upper half; our operands are (low, high).
    for to in ("bf16x2", "f16x2"):
        yield Instruction(f"cvt.{to}.f32", f"cvt.rn.{to}.f32 $0, $2, $1;", ("float", "float"), ("i32",),
                          "pack", {"to": to[:-2]})
    for to in ("e4m3x2", "e5m2x2"):
        yield Instruction(f"cvt.{to}.f32", f"cvt.rn.satfinite.{to}.f32 $0, $2, $1;", ("float", "float"), ("i16",),
                          "pack", {"to": to[:-2]}, sm=89, ptx=81)
        yield Instruction(f"cvt.f16x2.{to}", f"cvt.rn.f16x2.{to} $0, $1;", ("i16",), ("i32",),
                          "unpack_fp8", {"kind": to[:-2]}, sm=89, ptx=81)
    # Ties away from zero: the only rounding that every target has.
    yield Instruction("cvt.rna.tf32.f32", "cvt.rna.tf32.f32 $0, $1;", ("float",), ("i32",), "to_tf32", {"even": False})
    yield Instruction("cvt.rn.tf32.f32", "cvt.rn.tf32.f32 $0, $1;", ("float",), ("i32",), "to_tf32", {"even": True},
                      sm=90, ptx=78)
    yield Instruction("prmt", "prmt.b32 $0, $1, $2, $3;", ("i32", "i32", "i32"), ("i32",), "permute_bytes")


def _approximations() -> Iterator[Instruction]:
    for function, spellings in _APPROXIMATE.items():
        for text in spellings:
            yield Instruction(text, f"{text} $0, $1;", ("float",), ("float",), "approximate",
                              {"function": function, "ftz": ".ftz" in text})
    for ftz in ("", ".ftz"):
        yield Instruction(f"div.full{ftz}.f32", f"div.full{ftz}.f32 $0, $1, $2;", ("float", "float"), ("float",),
                          "divide_full", {"ftz": bool(ftz)})


def records() -> Iterator[Instruction]:
    yield from _conversions()
    yield from _approximations()
