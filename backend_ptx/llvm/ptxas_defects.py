"""Instructions that ptxas assembles to wrong machine code, and what stands for them in our PTX.

All were found by comparing random programs on an H200 with the interpreter (tools/fuzz), with ptxas 13.0 and the
assembler of driver 580.159.04. LLVM chooses these instructions by itself, so they are replaced in its output.

* `add.s16x2` with a constant: VIADD.16x2 gets an immediate of which one half is lost.
* `abs.s16` and `neg.s16` of -32768: the result stays 32768 in a 32-bit register, and shifts, comparisons and divisions
  take it for positive.
* `max` with -0.0 and `min` with 1.0 become one instruction with .SAT, which makes +0.0 of -0.0. With 0.0 they do where
  the minimum comes first, too: then .SAT makes +0.0 of a NaN, which the minimum has made 1.0. Of float64 they become
  the maximum with +0.0 and then the minimum, which is the same. The usual clamp, `min(max(x, 0.0), 1.0)`, agrees with
  .SAT for all numbers and stays.
  Of single float16 (HADD2.SAT) it does so in either order and of pairs never, so that maxima are of pairs.
* `selp.f32` of -0.0 and -1.0 converts the integers 0 and -1, and of -0.0 and 1.0 becomes the comparison's own result as
  a float (FSET.BF): both give +0.0.
"""

from __future__ import annotations

import re

_REGISTER = r"(%\w+)"
_REPLACED = ((re.compile(rf"add\.[su]16x2 \t{_REGISTER}, {_REGISTER}, {_REGISTER};"),
              r"{ .reg .b16 a, b, c, d; mov.b32 {a, b}, \2; mov.b32 {c, d}, \3; "
              r"add.s16 a, a, c; add.s16 b, b, d; mov.b32 \1, {a, b}; }"),
             (re.compile(rf"(abs|neg)\.s16 \t{_REGISTER}, {_REGISTER};"),
              r"{ .reg .b32 wide; cvt.s32.s16 wide, \3; \1.s32 wide, wide; cvt.u16.u32 \2, wide; }"))
_CHOICE = re.compile(r"selp\.f32 \t(%\w+), 0f(80000000|[3B]F800000), 0f(80000000|[3B]F800000), ")
_SINGLE = re.compile(rf"max\.f16 \t{_REGISTER}, {_REGISTER}, {_REGISTER};")
_OF_PAIRS = (r"{ .reg .b32 one, other; .reg .b16 rest; mov.b32 one, {\2, \2}; mov.b32 other, {\3, \3}; "
             r"max.f16x2 one, one, other; mov.b32 {\1, rest}, one; }")
_MINIMUM_OF_ONE = re.compile(r"min\.f(?:32|64) \t(%\w+), %\w+, 0(?:f3F8|d3FF)0+;")
_MAXIMUM_OF_ZERO = re.compile(r"max\.f(32|64) \t(%\w+), (%\w+), 0([fd])([08])(0+);")


def without_defects(ptx: str) -> str:
    """The PTX with other instructions in their place."""
    if "s16" in ptx:
        for pattern, instead in _REPLACED:
            ptx = pattern.sub(instead, ptx)
    ptx = _SINGLE.sub(_OF_PAIRS, ptx)
    ptx = _CHOICE.sub(r"selp.b32 \t\1, 0x\2, 0x\3, ", ptx)
    minima = frozenset(_MINIMUM_OF_ONE.findall(ptx))
    if not minima:
        return ptx

    def maximum(found: re.Match[str]) -> str:
        bits, result, value, mark, sign, rest = found.groups()
        if value in minima:  # no NaN: floats compare as integers
            return f"{'min.u' if sign == '8' else 'max.s'}{bits} \t{result}, {value}, 0x{sign}{rest};"
        if sign == "0":
            return found[0]
        zero = f"0{mark}{sign}{rest}"
        return f"{{ .reg .pred p; setp.ge.f{bits} p, {value}, {zero}; selp.f{bits} {result}, {value}, {zero}, p; }}"

    return _MAXIMUM_OF_ZERO.sub(maximum, ptx)
