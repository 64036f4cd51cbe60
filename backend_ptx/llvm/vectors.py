"""Vectors of the builder: made of lanes and parts, taken apart, shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from tilewright.backend_ptx.llvm.constants import suffix
from tilewright.backend_ptx.llvm.emitter import Emitter
from tilewright.backend_ptx.llvm.values import (
    Definition,
    Parts,
    Recast,
    Shuffled,
    Val,
    chosen_parts,
    root,
    shuffle_text,
)

Lazy = TypeVar("Lazy", Parts, Shuffled, Recast)


class Vectors(Emitter):
    """What makes vectors of values, and values of vectors. Vectors made of parts are remembered by them."""

    def splat(self, v: Val, n: int) -> Val:
        """A scalar in every lane; n == 0 leaves it alone."""
        if not n:
            return v
        if v.const is not None:
            return self.const(v.elem, v.const, n)
        one = self.emit(v.elem, n, f"insertelement <{n} x {v.elem}> poison, {v}, i32 0")
        if n == 1:
            return one
        return self._defined(Shuffled(self._name(), one, (0,) * n, self.dbg))

    def extract(self, v: Val, i: int) -> Val:
        """Lane i; of a scalar, the scalar."""
        v, i = root(v, i)
        if not v.n:
            return v
        if v.const is not None:
            return self.const(v.elem, v.const)
        # LLVM turns the lane of a sum into a sum of lanes, and takes this line for it: it shall be the sum's own.
        return self.emit(v.elem, 0, f"extractelement {v}, i32 {i}", self._places.get(v.text, ""))

    def insert(self, v: Val, x: Val, i: int) -> Val:
        return self.emit(v.elem, v.n, f"insertelement {v}, {x}, i32 {i}")

    def vector(self, parts: Sequence[Val]) -> Val:
        """A vector of scalars, or of a power of two of vectors of one length."""
        if len(parts) == 1 and parts[0].n:
            return parts[0]
        return self._defined(Parts(self._name(), parts, self.dbg))

    def _name(self) -> str:
        self._next += 1
        return f"%v{self._next}"

    def _defined(self, value: Lazy) -> Lazy:
        """Leave a place for the definition of a vector that is known otherwise."""
        self.lines.append(Definition(value))
        return value

    def shuffle(self, a: Val, lanes: Sequence[int], b: Val | None = None) -> Val:
        """Lanes chosen from a, or from a followed by b."""
        if b is None and len(lanes) == a.n and list(lanes) == list(range(a.n)):
            return a
        if a.const is not None and b is None:
            return self.const(a.elem, a.const, len(lanes))
        if isinstance(a, Parts) and (b is None or (isinstance(b, Parts) and b.per == a.per)):
            known = [*a.parts, *b.parts] if isinstance(b, Parts) else a.parts
            chosen = chosen_parts(lanes, a.per)
            if chosen is not None:
                return self.vector([known[i] for i in chosen])
            [part, *others] = {i // a.per for i in lanes}
            if not others:
                return self.shuffle(known[part], [i % a.per for i in lanes])
        if b is not None:
            return self.emit(a.elem, len(lanes), shuffle_text(a, b.text, lanes))
        if isinstance(a, Shuffled):
            return self.shuffle(a.source, [a.lanes[i] for i in lanes])
        # Where words take bytes from more than two, all of these would stay live until the last use.
        if a.elem == "i8" and any(len({i // 4 for i in lanes[at:at + 4]}) > 2 for at in range(0, len(lanes), 4)):
            return self.emit(a.elem, len(lanes), shuffle_text(a, "poison", lanes))
        return self._defined(Shuffled(self._name(), a, lanes, self.dbg))

    def concat(self, parts: Sequence[Val]) -> Val:
        """The lanes of all parts in a row; scalars count as one lane. Parts have one length each."""
        if not parts[0].n:
            return self.vector(parts)
        if len({p.per if isinstance(p, Parts) else -1 for p in parts}) == 1 and isinstance(parts[0], Parts):
            parts = [inner for p in parts if isinstance(p, Parts) for inner in p.parts]
        if parts[0].n and len(parts) & (len(parts) - 1):  # no power of two: through the lanes
            return self.vector([self.extract(p, i) for p in parts for i in range(p.n)])
        return self.vector(parts)

    def reduced(self, v: Val, combine: Callable[[Val, Val], Val]) -> Val:
        """All lanes as one scalar: halves together while there are two, then one by one."""
        while v.n > 1 and v.n % 2 == 0:
            v = combine(*(self.shuffle(v, range(i, i + v.n // 2)) for i in (0, v.n // 2)))
        return reduce(combine, [self.extract(v, i) for i in range(max(1, v.n))])

    def intrinsic(self, name: str, args: Sequence[Val]) -> Val:
        """An overloaded intrinsic, named without its suffix, of the type of args[0]."""
        first = args[0]
        if lanes := self._lanes(args):
            single = f"{name}.{suffix(first.elem, 0)}"
            return self._by_lane(first.elem, [self.called(single, first.elem, lane) for lane in lanes])
        whole = f"{name}.{suffix(first.elem, first.n)}"
        return self.computed(first.elem, first.n, self.called(whole, first.type, args))

    def _lanes(self, vectors: Sequence[Val]) -> Sequence[tuple[Val, ...]]:
        """The lanes where all are known by scalars, which are computed one by one; none of other vectors. Between such
        lanes stands no vector, which LLVM would take apart."""
        known = [v.parts for v in vectors if isinstance(v, Parts) and not v.per and v.elem in self.lone]
        return list(zip(*known, strict=True)) if len(known) == len(vectors) else ()

    def _by_lane(self, elem: str, texts: Sequence[str]) -> Val:
        """The vector of the scalars that these texts compute."""
        return self.vector(self.emit_all([(elem, 0)] * len(texts), texts))

    def each(self, function: Callable[..., Val], *values: Val) -> Val:
        """Apply a function of scalars lane by lane (for intrinsics and asm that have no vector form)."""
        lanes = values[0].n
        if not lanes:
            return function(*values)
        return self.vector([function(*(self.extract(v, i) for v in values)) for i in range(lanes)])
