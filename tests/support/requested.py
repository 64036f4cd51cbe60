"""What the requests of warps access in the simulator: brute force for estimates of sectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tilewright.backend_ptx.simulator import assembly
from tilewright.backend_ptx.simulator.engines import bulk, cluster, copies
from tilewright.backend_ptx.simulator.memory.memory import GLOBAL, SHARED, Memory
from tilewright.backend_ptx.simulator.memory.tensor_map import PlacedMap

SECTOR, WORD, SEGMENT = 32, 4, 36  # bytes; bits of an address inside of a segment


class Requested:
    """By array and "read", "written" or "atomic": the number of requests of warps, and the sectors that each of them
    touches, added up. `banks`: wavefronts of shared memory."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, str], list[int]] = {}
        self.bases: list[tuple[int, int]] = []  # address of the first byte, and of the memory behind it
        self.quiet = 0
        self.banks = 0
        self.last: tuple[Any, ...] = ()

    def note(self, how: str, addresses: Any, warps: Any, lengths: Any) -> None:
        """Accesses of one instruction: the address and number of bytes of each, and the warp that makes it."""
        if self.quiet:
            return
        addresses = np.asarray(addresses, np.int64)
        reach = int(np.max(lengths, initial=1))
        touched = np.concatenate([
            np.stack([warps, np.minimum(addresses + b, addresses + lengths - 1) // SECTOR], axis=1)
            for b in range(0, reach + SECTOR, SECTOR)])
        touched = np.unique(touched, axis=0)
        segments = touched[:, 1] * SECTOR >> SEGMENT
        for segment in np.unique(segments):
            own = touched[segments == segment]
            counts = self.found.setdefault((int(segment), how), [0, 0])
            counts[0] += len(np.unique(own[:, 0]))
            counts[1] += len(own)

    def serve(self, addresses: Any, threads: Any, width: int) -> None:
        """An access of shared memory by one instruction: words of one bank are served one after another."""
        lanes = 32 if width <= WORD else 32 * WORD // width
        words = (np.asarray(addresses, np.int64)[:, None] // WORD + np.arange(max(width // WORD, 1))).reshape(-1)
        groups = np.repeat(np.asarray(threads) // lanes, max(width // WORD, 1))
        found = np.unique(np.stack([groups, words % 32, words], axis=1), axis=0)
        each, counts = np.unique(found[:, :2], axis=0, return_counts=True)
        self.banks += sum(int(counts[each[:, 0] == group].max()) for group in np.unique(each[:, 0]))

    def of(self, array: np.ndarray[Any, Any], how: str) -> tuple[int, int]:
        """(requests, sectors) of an array of the launch."""
        place = array.__array_interface__["data"][0]
        segments = [s for s, (low, high) in enumerate(self.bases, 1) if low <= place < high]
        return tuple(self.found.get((segments[0], how), (0, 0)))  # type: ignore[return-value]


@contextmanager
def requested() -> Iterator[Requested]:
    """Simulated launches inside are watched."""
    out = Requested()
    with pytest.MonkeyPatch.context() as patch:
        _watch_memory(out, patch)
        _watch_engines(out, patch)
        yield out


def _watch_memory(out: Requested, patch: pytest.MonkeyPatch) -> None:
    load, store, add, atomic = Memory.load, Memory.store, Memory.add_arrays, assembly.atomic

    def loaded(self: Memory, space: int, addresses: Any, size: int, align: int, threads: Any, **more: Any) -> Any:
        if space == GLOBAL:
            out.note("read", addresses, threads >> 5, np.full(len(addresses), size))
        elif space == SHARED and not out.quiet:
            out.serve(addresses, threads, size)
        return load(self, space, addresses, size, align, threads, **more)

    def stored(self: Memory, space: int, addresses: Any, data: Any, align: int, threads: Any, **more: Any) -> None:
        if space == GLOBAL:
            out.note("written", addresses, threads >> 5, np.full(len(addresses), data.shape[1]))
        elif space == SHARED and not out.quiet:
            out.serve(addresses, threads, data.shape[1])
        store(self, space, addresses, data, align, threads, **more)

    def added(self: Memory, name: str, arrays: Sequence[Any]) -> list[int]:
        places = [a.__array_interface__["data"][0] for a in arrays]
        while len(out.bases) < len(self._segments):
            out.bases.append((0, 0))
        ends = [p + 1 + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True))
                for p, a in zip(places, arrays, strict=True)]
        out.bases.append((min(places), max(ends)))
        return add(self, name, arrays)

    def updated(m: Any, space: int, addresses: Any, kind: Any, threads: Any, update: Any) -> Any:
        if space == GLOBAL:
            out.note("atomic", addresses, threads >> 5, np.full(len(addresses), kind.itemsize))
        return atomic(m, space, addresses, kind, threads, update)

    patch.setattr(Memory, "load", loaded)
    patch.setattr(Memory, "store", stored)
    patch.setattr(Memory, "add_arrays", added)
    patch.setattr(assembly, "atomic", updated)


def _watch_engines(out: Requested, patch: pytest.MonkeyPatch) -> None:
    """Copies read when they start; when they land, the simulator only looks whether that was right."""
    read, write, fetch, land, start = PlacedMap.read, PlacedMap.write, copies._read, copies._land, bulk.start_load

    def quietly(run: Any, *args: Any, **more: Any) -> Any:
        out.quiet += 1
        try:
            return run(*args, **more)
        finally:
            out.quiet -= 1

    def box(how: str, placed: PlacedMap, first: Sequence[int]) -> None:
        places, inside = placed._elements(first)
        if inside.any():
            out.note(how, places[inside], np.zeros(int(inside.sum()), np.int64),
                     np.full(int(inside.sum()), placed.map.array.itemsize))

    def started(m: Any, thread: int, to: int, source: PlacedMap, address: int, first: list[int], **more: Any) -> None:
        what = id(source), thread, tuple(first)
        if not more or what != out.last:  # a copy to several CTAs reads once
            box("read", source, first)
        out.last = what if more else ()
        start(m, thread, to, source, address, first, **more)

    def written(self: PlacedMap, memory: Memory, first: Sequence[int], data: Any, thread: int) -> None:
        box("written", self, first)
        quietly(write, self, memory, first, data, thread)

    def fetched(m: Any, sources: Any, lengths: Any, size: int, threads: Any) -> Any:
        some = lengths > 0
        if some.any():
            out.note("read", sources[some].astype(np.int64), threads[some] >> 5, lengths[some].astype(np.int64))
        return quietly(fetch, m, sources, lengths, size, threads)

    patch.setattr(PlacedMap, "read", lambda *args: quietly(read, *args))
    patch.setattr(PlacedMap, "write", written)
    patch.setattr(copies, "_read", fetched)
    patch.setattr(copies, "_land", lambda *args: quietly(land, *args))
    for module in (bulk, cluster):
        patch.setattr(module, "start_load", started)
