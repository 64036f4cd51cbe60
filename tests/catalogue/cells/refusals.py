"""What is refused: for every name that works on tiles, the dtypes that no executed cell has, and the error they meet.

A dtype is executed or refused, never neither: whichever dtype of a name has no executed cell is tried here and must
raise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from catalogue.cells.all import executed_cells
from catalogue.cells.kinds import ALL, F32, I32, KINDS, Kind
from catalogue.cells.probes import ARRAYS, NO_ARRAYS, TILES, Probe

import tilewright as ct
from tilewright.frontend import translate
from tilewright.tileir.core import Function


@dataclass(frozen=True)
class Refusal:
    """A name and a dtype that do not go together; `try_it` must raise."""

    name: str
    dtype: str
    try_it: Callable[[], Any]

    def reason(self) -> str:
        """The error's own words."""
        try:
            self.try_it()
        except ct.TileInternalError:
            raise
        except ct.TileError as error:
            return error.message.splitlines()[0]
        raise AssertionError(f"{self.name} takes {self.dtype}, but no cell runs it")


def with_tile(probe: Probe, kind: Kind) -> Function:
    """The IR of what the probe does with a tile of eight elements."""
    load = kind.load

    @ct.tile_kernel
    def kernel(x):
        probe(load(ct.load(x, (0,), (8,))))

    return translate(kernel.__wrapped__, kernel.arg_specs(np.zeros(8, kind.host)))


def with_array(probe: Probe, kind: Kind) -> Function:
    """The IR of what the probe does with an array of eight elements."""
    @ct.tile_kernel
    def kernel(x):
        probe(x)

    return translate(kernel.__wrapped__, kernel.arg_specs(np.zeros(8, kind.host)))


def with_store(source: Kind, target: Kind) -> None:
    load = source.load

    @ct.tile_kernel
    def kernel(x, out):
        ct.store(out, (0,), load(ct.load(x, (0,), (8,))))

    translate(kernel.__wrapped__, kernel.arg_specs(np.zeros(8, source.host), np.zeros(8, target.host)))


@functools.cache
def executed_dtypes() -> dict[str, frozenset[str]]:
    """The dtypes that cells of each name run."""
    found: dict[str, set[str]] = {}
    for cell in executed_cells():
        found.setdefault(cell.name, set()).add(cell.dtype)
    return {name: frozenset(dtypes) for name, dtypes in found.items()}


def refusals() -> Iterator[Refusal]:
    """Every name with every dtype that no executed cell of it has."""
    executed = executed_dtypes()
    for name, probe in TILES.items():
        for kind in ALL:
            if kind.name not in executed.get(name, ()):
                yield Refusal(name, kind.name, functools.partial(with_tile, probe, kind))
    for name, probe in ARRAYS.items():
        for kind in ALL:
            if kind.name not in executed.get(name, ()) and kind.name not in NO_ARRAYS:
                yield Refusal(name, kind.name, functools.partial(with_array, probe, kind))
    yield from pair_refusals()
    yield Refusal("RoundingMode.RZI", "float32", functools.partial(
        with_tile, lambda t: ct.add(t, t, rounding_mode=ct.RoundingMode.RZI), F32))
    yield Refusal("MemoryScope.CLUSTER", "float32", functools.partial(with_array, lambda x: ct.load(
        x, 0, 8, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.CLUSTER), F32))


# -- Two dtypes --------------------------------------------------------------------------------------------------------


def pair_refusals() -> Iterator[Refusal]:
    """Pairs of dtypes: conversions, promotion, products."""
    executed = executed_dtypes()
    for a in ALL:
        for b in ALL:
            if a is b:
                continue
            yield from _pair("astype", f"{a} to {b}", executed, a, _to(b, "astype"))
            yield from _pair("bitcast", f"{a} to {b}", executed, a, _to(b, "bitcast"))
            if b.name not in NO_ARRAYS and f"{a} to {b}" not in executed["implicit cast"]:
                yield Refusal("implicit cast", f"{a} to {b}", functools.partial(with_store, a, b))
            yield from _pair("promotion", f"{a} with {b}", executed, a, _added(b))
            yield from _pair("operator @", f"{a} with {b}", executed, a, _multiplied(b))
    for a in ALL:
        for b in ALL:
            for acc in (KINDS["float16"], F32, KINDS["float64"], I32):
                yield from _pair("mma", f"{a} with {b} to {acc}", executed, a, _accumulated(b, acc))


def _pair(name: str, label: str, executed: dict[str, frozenset[str]], first: Kind, probe: Probe) -> Iterator[Refusal]:
    if label not in executed[name] and (name != "astype" or label not in executed["astype(rounding_mode)"]):
        yield Refusal(name, label, functools.partial(with_tile, probe, first))


def _to(target: Kind, function: str) -> Probe:
    convert, dtype = getattr(ct, function), target.dtype
    return lambda t: convert(t, dtype)


def _other(kind: Kind) -> Any:
    """A tile of another dtype, of run-time values."""
    load, dtype = kind.load, kind.dtype
    carrier = {np.dtype(np.float32): ct.float32, np.dtype(np.uint8): ct.uint8}.get(kind.host, dtype)
    return lambda: load(ct.full((8,), ct.bid(0) > 0, carrier))


def _added(kind: Kind) -> Probe:
    make = _other(kind)
    return lambda t: t + make()


def _multiplied(kind: Kind) -> Probe:
    make = _other(kind)
    return lambda t: t @ make()


def _accumulated(kind: Kind, acc: Kind) -> Probe:
    make, dtype = _other(kind), acc.dtype
    return lambda t: ct.mma(t[None], make()[:, None], ct.zeros((1, 1), dtype))
