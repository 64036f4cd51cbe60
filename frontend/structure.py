"""Frontend values as trees with IR values as leaves: taking apart, rebuilding, merging two of one form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.frontend.promotion import loose_dtype, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    OUTSIDE,
    BoundMethod,
    Closure,
    Keywords,
    ListOf,
    Live,
    Range,
    RawMemory,
    SliceSpec,
    Struct,
    Text,
    TiledView,
    Val,
    is_loose,
    like,
)
from tilewright.tileir.core import Value
from tilewright.tileir.ops.arrays import Extent, SliceArray
from tilewright.tileir.types import ArrayType, TileType, Type, scalar

Kind = tuple[Callable[[Any], Any], Callable[[Any], tuple[Val, ...]], Callable[[Any, tuple[Val, ...]], Val]]

# Of each composite kind: what must agree, its parts, and how to make one like it from other parts.
_KINDS: dict[type, Kind] = {
    tuple: (len, lambda v: v, like),
    ListOf: (len, lambda v: v, like),
    Struct: (
        lambda v: (v.type, *v.fields), lambda v: tuple(v.fields.values()),
        lambda v, p: Struct(v.type, dict(zip(v.fields, p, strict=True))),
    ),
    Keywords: (
        lambda v: tuple(v.items), lambda v: tuple(v.items.values()),
        lambda v, p: Keywords(dict(zip(v.items, p, strict=True)), v.made),
    ),
    # A loop knows from a constant which way it counts: a step below zero stays one.
    Range: (
        lambda v: v.step if v.down else 0, lambda v: (v.start, v.stop) if v.down else (v.start, v.stop, v.step),
        lambda v, p: Range(p[0], p[1], v.step if v.down else p[2]),
    ),
    SliceSpec: (lambda v: v.length, lambda v: (v.start,), lambda v, p: SliceSpec(p[0], v.length)),
    TiledView: (
        lambda v: (v.tile_shape, v.steps, v.padding), lambda v: (v.array,),
        lambda v, p: TiledView(p[0], v.tile_shape, v.steps, v.padding),
    ),
    RawMemory: (lambda v: 0, lambda v: (v.array,), lambda v, p: RawMemory(p[0])),
    Closure: (
        lambda v: (v.source, v.scope, *v.defaults), lambda v: tuple(v.defaults.values()),
        lambda v, p: Closure(v.source, dict(zip(v.defaults, p, strict=True)), v.scope),
    ),
    BoundMethod: (lambda v: v.function, lambda v: (v.receiver,), lambda v, p: BoundMethod(v.function, p[0])),
    Text: (
        lambda v: tuple(p if isinstance(p, str) else p[1:] for p in v.parts),
        lambda v: tuple(p[0] for p in v.parts if not isinstance(p, str)), lambda v, p: _text(v, iter(p)),
    ),
}


def _text(value: Text, parts: Iterator[Val]) -> Text:
    return Text(tuple(p if isinstance(p, str) else (next(parts), p[1]) for p in value.parts))


def _kind(value: Val) -> Kind | None:
    return _KINDS.get(type(value)) or (_KINDS[tuple] if isinstance(value, tuple) else None)


def parts(value: Val) -> tuple[Val, ...]:
    """What a composite value is made of; () for all else."""
    kind = _kind(value)
    return kind[1](value) if kind else ()


def made_by(value: Val) -> frozenset[int]:
    """The numbers of all lists and dicts in a value."""
    own = value.made if isinstance(value, (ListOf, Keywords, Live)) else frozenset()
    return own.union(*map(made_by, parts(value)))


def known_elsewhere(value: Val) -> Val:
    """The same value, whose lists and dicts others have, too."""
    kind = _kind(value) if made_by(value) else None
    if kind is None:
        return value
    return with_made(kind[2](value, tuple(known_elsewhere(p) for p in kind[1](value))), frozenset((OUTSIDE,)))


def with_made(value: Val, made: frozenset[int]) -> Val:
    """A list or dict that may also have been made elsewhere; anything else as it is."""
    if isinstance(value, ListOf):
        return ListOf(value, value.made | made)
    if isinstance(value, Live):
        return Live(value, value.made | made, value.order, value.keys)
    return Keywords(value.items, value.made | made) if isinstance(value, Keywords) else value


def containers(value: Val) -> list[frozenset[int]]:
    """What may have made each list and dict in a value, in the order of `parts`."""
    own = [value.made] if isinstance(value, (ListOf, Keywords, Live)) else []
    return own + [made for p in parts(value) for made in containers(p)]


def known_from(value: Val, other: Val) -> Val:
    """A value whose lists and dicts may also be those of another of one form."""
    kind = _kind(value) if made_by(other) else None
    if kind is None or type(other) is not type(value):
        return value
    new = kind[2](value, tuple(known_from(p, q) for p, q in zip(kind[1](value), kind[1](other), strict=True)))
    return with_made(new, other.made) if isinstance(other, (ListOf, Keywords, Live)) else new


def leaves(value: Val) -> list[Value]:
    """The IR values in a frontend value."""
    if isinstance(value, Value):
        return [value]
    kind = _kind(value)
    return [leaf for part in kind[1](value) for leaf in leaves(part)] if kind else []


def concrete(t: Translator, value: Val) -> Val:
    """The same value with loose constants typed; those that are defaults of functions stay."""
    if is_loose(value):
        return typed(t, value)
    kind = None if isinstance(value, Closure) else _kind(value)
    return kind[2](value, tuple(concrete(t, p) for p in kind[1](value))) if kind else value


def rebuild(value: Val, new: Iterator[Value]) -> Val:
    """The same form with other IR values as leaves, in the order of `leaves`."""
    if isinstance(value, Value):
        return next(new)
    kind = _kind(value)
    return kind[2](value, tuple(rebuild(p, new) for p in kind[1](value))) if kind else value


# -- Merging ---------------------------------------------------------------------------------------------------------


class Mismatch(Exception):
    """Two values cannot be merged into one."""


class Nothing:
    """The side of a merge that never gets as far as using the value."""


NOTHING = Nothing()


@dataclass(frozen=True, slots=True)
class Slot:
    """A merged leaf: the number of the pair that it comes from."""

    index: int
    type: Type


class Merge:
    """Merges values of two ways; `pairs` are the leaves that each way has to hand over, with their common type."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Val, Val, Type]] = []

    def join(self, a: Val, b: Val) -> Val:
        """The merged value, with Slots where the ways differ; Mismatch where they do not fit."""
        if a is b or same_constant(a, b):
            return a
        if b is NOTHING or a is NOTHING:
            return self._one_sided(a, b)
        kind = _kind(a)
        if kind is not None and type(b) is type(a):
            if kind[0](a) != kind[0](b):
                raise Mismatch
            joined = kind[2](a, tuple(self.join(p, q) for p, q in zip(kind[1](a), kind[1](b), strict=True)))
            return with_made(joined, b.made) if isinstance(b, (ListOf, Keywords, Live)) else joined
        return self.slot(a, b, common_type(leaf_type(a), leaf_type(b)))

    def _one_sided(self, a: Val, b: Val) -> Val:
        value = a if b is NOTHING else b
        kind = _kind(value)
        if kind is not None:
            return kind[2](value, tuple(self.join(*((p, b) if b is NOTHING else (a, p))) for p in kind[1](value)))
        if not isinstance(value, Value):
            return value
        if not isinstance(value.type, TileType):
            raise Mismatch
        return self.slot(a, b, value.type)

    def slot(self, a: Val, b: Val, type_: Type) -> Slot:
        """Have the ways hand over a and b; what stands for the result until `fill`."""
        self.pairs.append((a, b, type_))
        return Slot(len(self.pairs) - 1, type_)


def match(form: Val, value: Val) -> list[tuple[Val, Type]]:
    """The leaves of `value`, each with the type of the leaf of `form` that it must have; Mismatch where they differ."""
    if isinstance(form, Value):
        if leaf_type(value) != form.type and not _weaker(form.type, leaf_type(value)):
            raise Mismatch
        return [(value, form.type)]
    kind = _kind(form)
    if kind is not None:
        if type(value) is not type(form) or kind[0](form) != kind[0](value):
            raise Mismatch
        return [leaf for f, v in zip(kind[1](form), kind[1](value), strict=True) for leaf in match(f, v)]
    if form is not value and not same_constant(form, value):
        raise Mismatch
    return []


def _weaker(a: Type, b: Type) -> bool:
    """Array type a says nothing that b does not."""
    try:
        return isinstance(a, ArrayType) and common_type(a, b) == a
    except Mismatch:
        return False


def forget_facts(t: Translator, value: Val) -> Val:
    """The same value, its arrays without static facts, so that any other array of the kind can take their place."""
    if isinstance(value, Value) and isinstance(value.type, ArrayType) and value.type.rank:
        old = value.type
        return hand_over(t, value, ArrayType(old.dtype, (None,) * old.rank, (None,) * old.rank, index=old.index))
    kind = _kind(value)
    return kind[2](value, tuple(forget_facts(t, p) for p in kind[1](value))) if kind else value


def fill(value: Val, results: Sequence[Value]) -> Val:
    """A merged value with the Slots replaced by results."""
    if type(value) is Slot:
        return results[value.index]
    kind = _kind(value)
    return kind[2](value, tuple(fill(p, results) for p in kind[1](value))) if kind else value


def same_constant(a: Val, b: Val) -> bool:
    """Both are the same compile-time object."""
    if isinstance(a, Value) or isinstance(b, Value) or type(a) is not type(b) or type(a) in _KINDS:
        return False
    if isinstance(a, float):
        return (a == b or (math.isnan(a) and math.isnan(b))) and math.copysign(1.0, a) == math.copysign(1.0, b)
    return bool(a == b)


def leaf_type(value: Val) -> Type:
    """The IR type of a leaf."""
    if isinstance(value, Value):
        type_: Type = value.type
        return type_
    if is_loose(value):
        return scalar(loose_dtype(value))
    raise Mismatch


def common_type(a: Type, b: Type) -> Type:
    """The type that both leaves have; arrays that differ only in what is known of them meet in what holds for both."""
    if a == b:
        return a
    if isinstance(a, ArrayType) and isinstance(b, ArrayType) and a.rank and a.seen_by_user() == b.seen_by_user():
        return ArrayType(a.dtype, (None,) * a.rank, (None,) * a.rank, index=a.index)
    raise Mismatch


def hand_over(t: Translator, value: Val, type_: Type) -> Value:
    """A leaf as an IR value of the merged type, emitted at the end of its way."""
    if value is NOTHING:
        assert isinstance(type_, TileType)
        zero: bool | int | float = False if type_.dtype.is_bool else 0.0 if type_.dtype.is_float else 0
        return t.constant(zero, type_.dtype, type_.shape)
    if not isinstance(value, Value):
        return typed(t, value)
    if value.type == type_ or not isinstance(type_, ArrayType):
        return value
    start = typed(t, 0, type_.index)
    stop = t.emit(Extent, array=value, axis=0)
    return t.emit(SliceArray, array=value, start=start, stop=stop, axis=0, type=type_)
