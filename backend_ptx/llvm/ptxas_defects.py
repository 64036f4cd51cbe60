"""Instructions that ptxas assembles to wrong machine code, and what stands for them in our PTX.

Both were found by comparing random programs on an H200 with the interpreter (tools/fuzz), with ptxas 13.0 and the
assembler of driver 580.159.04. LLVM chooses these instructions by itself, so they are replaced in its output.

* `add.s16x2` with a constant: VIADD.16x2 gets an immediate of which one half is lost.
* `abs.s16` and `neg.s16` of -32768: the result stays 32768 in a 32-bit register, and shifts, comparisons and divisions
  take it for positive.
"""

from __future__ import annotations

import re

_REGISTER = r"(%\w+)"
_REPLACED = (
    (re.compile(rf"\badd\.[su]16x2 \t{_REGISTER}, {_REGISTER}, {_REGISTER};"),
     r"{ .reg .b16 a, b, c, d; mov.b32 {a, b}, \2; mov.b32 {c, d}, \3; "
     r"add.s16 a, a, c; add.s16 b, b, d; mov.b32 \1, {a, b}; }"),
    (re.compile(rf"\b(abs|neg)\.s16 \t{_REGISTER}, {_REGISTER};"),
     r"{ .reg .b32 wide; cvt.s32.s16 wide, \3; \1.s32 wide, wide; cvt.u16.u32 \2, wide; }"),
)


def without_defects(ptx: str) -> str:
    """The PTX with other instructions in their place."""
    if "s16" not in ptx:
        return ptx
    for pattern, instead in _REPLACED:
        ptx = pattern.sub(instead, ptx)
    return ptx
