"""Integers of 8 bits as floats without conversions, of which an SM makes 16 a cycle, a quarter of what it moves and
adds: their bits are put below those of a float whose last bit counts 1, which is subtracted again. All is exact.

float16 holds 8 such bits from 1024 on. bfloat16 holds 7 from 128 on: the upper one decides which number is subtracted,
128 or 256. float32, one element an instruction, gains less, and ptxas then starts it behind the wait for an MMA: a GEMM
with int8 rows times float32 scales, 4096^3 by 128x256x64, takes 198 us on an H200 with conversions, 233 so (the
former against itself 0.96).
"""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.values import root

Place = tuple[Val, int]  # a vector of bytes that fill words, and which of them


def places_in_words(v: Val) -> list[Place] | None:
    """Where in words, or halves of words, the bytes of a vector are; None where they are in none, or no pairs."""
    found = [root(v, i) for i in range(v.n)]
    fill = all(source.const is None and (source.n == 2 or (source.n and source.n % 4 == 0)) for source, _ in found)
    return found if found and v.n % 2 == 0 and fill else None


def to_float(b: Builder, places: list[Place], signed: bool, elem: str) -> Val:
    """As half or bfloat."""
    flipped = 0x80808080 if signed and elem == "half" else 0  # counted from -128
    every = {(source, i // 4): b.xor(_word(b, source, i // 4), flipped) for source, i in places}
    words = [(every[source, i // 4], i % 4) for source, i in places]
    upper = 0x64646464 if elem == "half" else 0x43434343
    moved = b.vector([_paired(b, x, y, upper) for x, y in zip(words[::2], words[1::2], strict=True)])
    if elem == "half":
        return b.fsub(b.bitcast(moved, elem, len(places)), 1024.0 + 128 * signed)
    low, high = (b.bitcast(b.and_(moved, bits), elem, len(places)) for bits in (0xFF7FFF7F, 0xFF80FF80))
    return b.fsub(low, high) if signed else b.fadd(low, b.fsub(high, 256.0))


def _word(b: Builder, source: Val, i: int) -> Val:
    if source.n == 2:
        return b.cast("zext", b.bitcast(source, "i16", 0), "i32")
    return b.extract(b.bitcast(source, "i32", source.n // 4), i)


def _paired(b: Builder, x: tuple[Val, int], y: tuple[Val, int], upper: int) -> Val:
    """Two bytes of words, each below one of `upper`."""
    (word, i), (other, j) = x, y
    if other is not word:
        word, i, j = _permuted(b, word, other, i | 4 + j << 4), 0, 1
    return _permuted(b, word, upper, 0x4040 | i | j << 8)


def _permuted(b: Builder, x: Val, y: Val | int, selector: int) -> Val:
    """`selector`: four bits for each byte of the result, one of x from 0 on, of y from 4 on."""
    other = b.const("i32", y) if isinstance(y, int) else y
    return b.call("llvm.nvvm.prmt", "i32", [x, other, b.const("i32", selector)])
