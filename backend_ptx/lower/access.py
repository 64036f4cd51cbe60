"""One access of a thread to global memory: a few consecutive elements, with or without a predicate."""

from __future__ import annotations

import struct

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.constants import FLOATS, bfloat_bits
from tilewright.backend_ptx.lower.floats import INT_OF

MAX_BYTES = 16
_WORD = {1: "i16", 2: "i16", 4: "i32", 8: "i64"}
_CODE = {"half": "e", "float": "f", "double": "d"}


def memory_elem(elem: str) -> str:
    """How an element lies in memory: masks take a byte."""
    return "i8" if elem == "i1" else elem


def elem_bytes(elem: str) -> int:
    """Bytes of an element in memory."""
    if elem in INT_OF:
        elem = INT_OF[elem]
    return max(1, int(elem[1:]) // 8)


def _words(size: int, count: int) -> tuple[int, int]:
    """Bytes of a register and number of registers for `count` elements of `size` bytes."""
    total = size * count
    if size == 8 or total < 4:
        return (8, count) if size == 8 else (total, 1)
    return 4, total // 4


def both(b: Builder, one: Val | None, other: Val | None) -> Val | None:
    """Both of two predicates, of which None is always true."""
    if one is None or other is None:
        return one or other
    return b.and_(one, other)


def load(b: Builder, elem: str, count: int, pointer: Val, *, read_only: bool) -> Val:
    """`count` elements at an address that is a multiple of their size together; a vector even for one."""
    stored = memory_elem(elem)
    size = elem_bytes(elem)
    value = b.load(stored, count, pointer, size * count, invariant=read_only)
    return _from_memory(b, value, elem)


def load_if(b: Builder, elem: str, pointer: Val, predicate: Val, padding: Val, *, read_only: bool) -> Val:
    """`load` of as many elements as `padding` has lanes; where the predicate is false the padding."""
    size, count = _words(elem_bytes(elem), padding.n)
    path = ".nc" if read_only else ""
    record = instruction(f"ld.global{path}.{_name(size, count)}")
    words = record.emit(b, pointer, predicate, *_to_words(b, _to_memory(b, padding), size, count))
    return _from_memory(b, _from_words(b, words, memory_elem(elem), padding.n), elem)


def store(b: Builder, value: Val, pointer: Val, predicate: Val | None) -> None:
    """The lanes of `value` to consecutive addresses, where the predicate holds."""
    stored = _to_memory(b, value)
    size = elem_bytes(stored.elem)
    if predicate is None:
        b.store(stored, pointer, size * stored.n)
        return
    width, count = _words(size, stored.n)
    instruction(f"st.global.{_name(width, count)}").emit(b, pointer, predicate, *_to_words(b, stored, width, count))


def load_ordered(b: Builder, pointer: Val, predicate: Val | None, padding: Val, order: str, scope: str) -> Val:
    """One element (a vector of length 1) with a memory order; where the predicate is false the padding."""
    size = elem_bytes(padding.elem)
    word = _to_words(b, _to_memory(b, padding), size, 1)
    predicate = predicate or b.const("i1", 1)
    words = instruction(f"ld.{order}.{scope}.global.b{size * 8}").emit(b, pointer, predicate, *word)
    return _from_memory(b, _from_words(b, words, memory_elem(padding.elem), 1), padding.elem)


def store_ordered(b: Builder, value: Val, pointer: Val, predicate: Val | None, order: str, scope: str) -> None:
    """One element (a vector of length 1) with a memory order, where the predicate holds."""
    stored = _to_memory(b, value)
    size = elem_bytes(stored.elem)
    predicate = predicate or b.const("i1", 1)
    instruction(f"st.{order}.{scope}.global.b{size * 8}").emit(
        b, pointer, predicate, *_to_words(b, stored, size, 1))


def _name(size: int, count: int) -> str:
    return f"{f'v{count}.' if count > 1 else ''}b{size * 8}"


def _to_memory(b: Builder, value: Val) -> Val:
    return b.cast("zext", value, "i8") if value.elem == "i1" else value


def _from_memory(b: Builder, value: Val, elem: str) -> Val:
    return b.icmp("ne", value, 0) if elem == "i1" else value


def _to_words(b: Builder, value: Val, size: int, count: int) -> list[Val]:
    """The registers of `size` bytes that hold a vector (a single byte widened to 16 bits)."""
    word = _WORD[size]
    if value.const is not None:
        return [b.const(word, constant_word(value.elem, value.const, size))] * count
    if elem_bytes(value.elem) == 1 and size == 1:
        return [b.cast("zext", b.extract(value, 0), word)]
    if value.n == count:
        lanes = [b.extract(value, i) for i in range(count)]
        return [b.bitcast(v, word) for v in lanes]
    words = b.bitcast(value, word, count if count > 1 else 0)
    return [b.extract(words, i) for i in range(count)]


def _from_words(b: Builder, words: tuple[Val, ...], elem: str, lanes: int) -> Val:
    """The inverse of `_to_words`: a vector of `lanes` elements."""
    if elem == "i8" and lanes == 1:
        return b.vector([b.cast("trunc", words[0], "i8")])
    if len(words) == 1 and lanes > 1:
        return b.bitcast(words[0], elem, lanes)
    return b.bitcast(b.vector(words), elem, lanes)


def constant_word(elem: str, value: float | int, size: int) -> int:
    """The bits of a register of `size` bytes that is full of the constant."""
    own = elem_bytes(elem)
    if elem == "bfloat":
        bits = bfloat_bits(value)
    elif elem in FLOATS:
        bits = int.from_bytes(struct.pack("<" + _CODE[elem], value), "little")
    else:
        bits = int(value) & (1 << 8 * own) - 1
    out = 0
    for i in range(max(1, size // own)):
        out |= bits << 8 * own * i
    return out
