"""Accesses of a thread to global memory: a few consecutive elements each, with or without a predicate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from tilewright.backend_ptx.instructions.memory import LOADED_TYPE, PASSING, REGISTER_TYPE, width_name
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.constants import BITS
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef

Offsets = tuple[int, ...]


class Accesses(ABC):
    """The accesses of a thread to the elements of one tile, of `vector` elements where none is cut."""

    ctx: Context
    ref: ArrayRef
    vector: int

    @property
    @abstractmethod
    def cuts_vectors(self) -> bool:
        """Whether a mask or an edge may fall inside an access of `vector` elements."""

    @abstractmethod
    def whole(self) -> Val:
        """Whether none of this thread's accesses of `vector` elements is cut."""

    def surely(self, known: Sequence[Val | None]) -> Val | None:
        """Whether all accesses are made, but for elements that are known, if one comparison or a few say so for many;
        None: not known so."""
        return None

    @abstractmethod
    def groups(self, count: int) -> Sequence[Offsets]:
        """The place of every access of `count` elements."""

    @abstractmethod
    def pointer(self, place: Offsets) -> Val:
        """The address of an access."""

    @abstractmethod
    def predicates(self, count: int, whole: bool, mine: Val | None = None) -> Iterator[Val | None]:
        """Whether each of the accesses is made (None: surely) by the threads where `mine` holds. `whole`: `whole()`
        holds."""

    def ends(self) -> tuple[Sequence[Val], Sequence[Val]] | None:
        """Whether the first and the last element of each access of `vector` elements are there; None where others of
        them may be missing between these two, or the first alone. After `whole()`."""
        return None

    def read(self, padding: Val, known: Sequence[Val | None] = ()) -> Val:
        """The elements of the tile; those of the vector `padding` where a predicate is false. `known`: the lanes that
        have been read before."""
        b, path = self.ctx.b, "ld.global" + PASSING * self.ref.type.passing + ".nc" * self.ref.read_only

        def read(count: int, whole: bool | None) -> Val:
            predicates = [None] * len(self.groups(count)) if whole is None else list(self.predicates(count, whole))
            before = [[v for v in known[i * count:(i + 1) * count] if v is not None] for i in range(len(predicates))]
            return b.concat([
                load(b, path, self.pointer(place), predicates[i], _part(b, padding, i, count))
                if len(before[i]) < count else b.vector(before[i]) for i, place in enumerate(self.groups(count))])

        if not self.cuts_vectors:
            surely = self.surely(known)
            return read(self.vector, False) if surely is None else _meeting(b, b.branch(
                surely, lambda: _apart(b, read(self.vector, None)), lambda: _apart(b, read(self.vector, False)),
                ("inside", "edge")), padding.elem)

        def read_edge() -> Val:
            ends = self.ends()
            if ends is None:
                return read(1, False)
            places = self.groups(self.vector)
            vectors = b.concat([load(b, path, self.pointer(place), inside, _part(b, padding, i, self.vector))
                                for i, (place, inside) in enumerate(zip(places, ends[1], strict=True))])
            return b.join(b.branch(any_of(b, cut := _cut(b, *ends)), lambda: b.concat([
                load(b, path, self.pointer(place), b.and_(cut[i // self.vector], inside), _part(b, vectors, i, 1))
                for i, (place, inside) in enumerate(self._elements())]), lambda: vectors, ("cut", "vectors")))

        return b.join(b.branch(self.whole(), lambda: read(self.vector, True), read_edge, ("whole", "edge")))

    def _elements(self) -> Iterator[tuple[Offsets, Val]]:
        """The place of every element, and whether it is there."""
        always = self.ctx.b.const("i1", 1)
        for place, inside in zip(self.groups(1), self.predicates(1, False), strict=True):
            yield place, always if inside is None else inside

    def write(self, value: Val, mine: Val | None, path: str = "st.global") -> None:
        """The lanes of `value` to the elements of the tile, by the threads where `mine` holds."""
        b = self.ctx.b

        def write(count: int, whole: bool) -> None:
            predicates = self.predicates(count, whole, mine)
            for i, (place, predicate) in enumerate(zip(self.groups(count), predicates, strict=True)):
                part = _part(b, value, i, count)
                store(b, path, self.pointer(place), predicate, part)

        def write_edge() -> None:
            ends = self.ends()
            if ends is None:
                write(1, False)
                return
            for i, (place, inside) in enumerate(zip(self.groups(self.vector), ends[1], strict=True)):
                store(b, path, self.pointer(place), both(b, mine, inside), _part(b, value, i, self.vector))
            cut = _cut(b, *ends)
            with b.when(any_of(b, cut), "cut"):
                for i, (place, inside) in enumerate(self._elements()):
                    made = both(b, mine, b.and_(cut[i // self.vector], inside))
                    store(b, path, self.pointer(place), made, _part(b, value, i, 1))

        if self.cuts_vectors:
            b.branch(self.whole(), lambda: write(self.vector, True), write_edge, ("whole", "edge"))
        else:
            write(self.vector, False)


def _apart(b: Builder, value: Val) -> Val:
    """Elements of 16 bits in registers of 32: packed in pairs they would be awaited where they are loaded."""
    return b.cast("zext", b.bitcast(value, "i16"), "i32") if BITS[value.elem] == 16 else value


def _meeting(b: Builder, arrivals: Sequence[tuple[Val, str]], elem: str) -> Val:
    value = b.join(arrivals)
    return b.bitcast(b.cast("trunc", value, "i16"), elem) if BITS[elem] == 16 else value


def _cut(b: Builder, first: Sequence[Val], last: Sequence[Val]) -> list[Val]:
    """Which accesses an edge falls inside of."""
    return [b.and_(one, b.xor(other, b.const("i1", 1))) for one, other in zip(first, last, strict=True)]


def any_of(b: Builder, conditions: Iterable[Val]) -> Val:
    """Whether one of them holds."""
    return reduce(b.or_, conditions)


def _part(b: Builder, value: Val, number: int, count: int) -> Val:
    """The lanes of a vector that one access of `count` elements moves."""
    return b.shuffle(value, range(number * count, (number + 1) * count))


def memory_elem(elem: str) -> str:
    """How an element lies in memory: masks take a byte."""
    return "i8" if elem == "i1" else elem


def elem_bytes(elem: str) -> int:
    """Bytes of an element in memory."""
    return BITS[memory_elem(elem)] // 8


def _words(size: int, count: int) -> tuple[int, int]:
    """Bytes of a register and number of registers for `count` elements of `size` bytes."""
    width = 8 if size == 8 else min(4, size * count)
    return width, size * count // width


def both(b: Builder, one: Val | None, other: Val | None) -> Val | None:
    """Both of two predicates, of which None is always true."""
    if one is None or other is None:
        return one or other
    return b.and_(one, other)


def load(b: Builder, path: str, pointer: Val, predicate: Val | None, padding: Val) -> Val:
    """As many consecutive elements as `padding` has lanes; where the predicate is false the padding. Their address is a
    multiple of their size together. `path`: the instruction without its width."""
    elem = memory_elem(padding.elem)
    size, count = _words(elem_bytes(elem), padding.n)
    if predicate is None and path in ("ld.global", "ld.global.nc"):
        value = b.load(elem, padding.n, pointer, size * count, invariant=path == "ld.global.nc")
    else:
        words, kind = _to_words(b, to_memory(b, padding), size, count), LOADED_TYPE[size]
        record, narrow = instruction(f"{path}.{width_name(size, count)}"), words[0].elem
        wide = [b.cast("zext", word, kind) if narrow != kind else word for word in words]
        loaded = record.emit(b, pointer, predicate or b.const("i1", 1), *wide)
        loaded = tuple(b.cast("trunc", word, narrow) if narrow != kind else word for word in loaded)
        value = _from_words(b, loaded, elem, padding.n)
    return from_memory(b, value, padding.elem)


def store(b: Builder, path: str, pointer: Val, predicate: Val | None, value: Val) -> None:
    """The lanes of `value` to consecutive addresses, where the predicate holds. `path`: the instruction without its
    width."""
    stored = to_memory(b, value)
    size, count = _words(elem_bytes(stored.elem), stored.n)
    if predicate is None and path == "st.global":
        b.store(stored, pointer, size * count)
        return
    words = _to_words(b, stored, size, count)
    instruction(f"{path}.{width_name(size, count)}").emit(b, pointer, predicate or b.const("i1", 1), *words)


def to_memory(b: Builder, value: Val) -> Val:
    """A fragment as it lies in memory."""
    return b.cast("zext", value, "i8") if value.elem == "i1" else value


def from_memory(b: Builder, value: Val, elem: str) -> Val:
    """The inverse of `to_memory`."""
    return b.icmp("ne", value, 0) if elem == "i1" else value


def _to_words(b: Builder, value: Val, size: int, count: int) -> list[Val]:
    """The registers of `size` bytes that hold a vector (a single byte widened to 16 bits)."""
    word = REGISTER_TYPE[size]
    if value.const is not None and value.is_float:
        lanes = size // elem_bytes(value.elem)
        return [b.bitcast(b.const(value.elem, value.const, lanes if lanes > 1 else 0), word, 0)] * count
    if value.const is not None:
        return [b.const(word, constant_word(value.elem, int(value.const), size))] * count
    if size == 1:
        return [b.cast("zext", b.extract(value, 0), word)]
    if value.n == count:
        return [b.bitcast(b.extract(value, i), word) for i in range(count)]
    words = b.bitcast(value, word, count if count > 1 else 0)
    return [b.extract(words, i) for i in range(count)]


def _from_words(b: Builder, words: tuple[Val, ...], elem: str, lanes: int) -> Val:
    """The inverse of `_to_words`: a vector of `lanes` elements."""
    if elem == "i8" and lanes == 1:
        return b.vector([b.cast("trunc", words[0], "i8")])
    return b.bitcast(words[0] if len(words) == 1 < lanes else b.vector(words), elem, lanes)


def constant_word(elem: str, value: int, size: int) -> int:
    """The bits of a register of `size` bytes that is full of an integer."""
    own = elem_bytes(elem)
    return int.from_bytes((value & (1 << 8 * own) - 1).to_bytes(own, "little") * max(1, size // own), "little")
