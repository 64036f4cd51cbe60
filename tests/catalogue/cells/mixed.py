"""Cells of operands of different kinds: loose constants, where, promotion of two dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.binary import NUMBERS, extreme, in_float32
from catalogue.cells.kinds import (
    ALL,
    BOOL,
    F16,
    FLOATS,
    INTS,
    STORED,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, many, operands, pointwise, same

import tilewright as ct


def constant_batches() -> Iterator[Batch]:
    """Operators with a Python number, which takes the tile's dtype."""
    table: dict[str, tuple[Callable[..., Any], Callable[..., Array]]] = {
        "+": (lambda x: x + 3, lambda x: x + np.array(3, x.dtype)),
        "-": (lambda x: 3 - x, lambda x: np.array(3, x.dtype) - x),
        "*": (lambda x: x * 3, lambda x: x * np.array(3, x.dtype)),
        "<": (lambda x: x < 3, lambda x: x < 3),
        "builtin max": (lambda x: max(x, 3), lambda x: extreme(np.maximum)(x, np.array(3, x.dtype))),
    }
    for symbol, (function, reference) in table.items():
        for kind in NUMBERS:
            shown = symbol if "builtin" in symbol else f"operator {symbol}"
            yield pointwise(f"{symbol.replace('builtin ', '')}-constant-{kind}",
                            [Form((shown, "loose constants"), function)], (kind,),
                            BOOL if symbol == "<" else kind, operands((kind,)), in_float32(reference)
                            if symbol != "<" else reference, dtype=f"{kind} with a constant")


def where_batches() -> Iterator[Batch]:
    for kind in ALL:
        def reference(c: Array, x: Array, y: Array) -> Array:
            return np.where(c, x, y).astype(x.dtype)

        yield pointwise(f"where-{kind}", [Form(("where",), ct.where)], (BOOL, kind, kind), kind,
                        operands((BOOL, kind, kind)), reference, places=where_places(), dtype=kind.name)
    for kind in (*INTS, *FLOATS, *STORED):
        def chosen(c: Array, x: Array, y: Array, kind: Kind = kind) -> Array:
            return np.where(kind.values(c) != 0, x, y).astype(x.dtype)

        yield pointwise(f"where-condition-{kind}", [Form(("where",), ct.where)], (kind, F16, F16), F16,
                        operands((kind, F16, F16)), chosen, places=where_places(), dtype=f"{kind} as condition")


def where_places() -> tuple[Place, ...]:
    return (Place(((16,), (16,), (16,)), "ragged"), same((), 3, "whole"), same((4, 8), 3), same((2, 4, 4), 3),
            same((2, 2, 2, 4), 3), Place(((4, 1), (8,), ()), "broadcast"), Place(((), (4, 1), (1, 8)), "broadcast"),
            Place(((2, 1, 4), (4, 4), (2, 4, 1)), "broadcast"), many(3))


# -- Two dtypes --------------------------------------------------------------------------------------------------------


def promotion_batches() -> Iterator[Batch]:
    """The common dtype of two: one kernel for each pair that has one."""
    order = {kind: k for k, kind in enumerate((BOOL, *INTS, *FLOATS))}
    for a in order:
        for b in order:
            common = promoted(a, b)
            if a is b or common is None or common is BOOL:
                continue

            def reference(x: Array, y: Array, common: Kind = common) -> Array:
                return in_float32(np.add)(x.astype(common.host), y.astype(common.host))

            yield pointwise(f"promotion-{a}-{b}", [Form(("operator +", "promotion"), lambda x, y: x + y)], (a, b),
                            common, operands((a, b)), reference, dtype=f"{a} with {b}", places=pair_places())


def pair_places() -> tuple[Place, ...]:
    return (Place(((8, 1), (1, 16)), "boundary values", False), Place(((2, 8), (8,)), "broadcast"))


def promoted(a: Kind, b: Kind) -> Kind | None:
    """The table of promotion, written once more."""
    group = {**{BOOL: 0}, **dict.fromkeys(INTS, 1), **dict.fromkeys(FLOATS, 2)}
    if a is b or group[a] != group[b]:
        return a if group[a] >= group[b] else b
    if {a.name, b.name} == {"float16", "bfloat16"} or (a.is_int and a.dtype.is_signed != b.dtype.is_signed):
        return None
    return a if a.bits > b.bits else b


def batches() -> Iterator[Batch]:
    yield from constant_batches()
    yield from where_batches()
    yield from promotion_batches()
