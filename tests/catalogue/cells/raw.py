"""Cells of raw memory: loads and stores at offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.kinds import (
    Kind,
    sample,
)
from catalogue.cells.loads import ARRAYS
from catalogue.cells.model import Array, Batch

import tilewright as ct


def raw_tasks(kind: Kind) -> Iterator[Task]:
    def copy(ins, out):
        place = ct.arange(16, dtype=ct.int32)
        t = ins[0].get_raw_memory().load_offset(place + 16 * ct.bid(0), latency=1)
        out.get_raw_memory().store_offset(place + 16 * ct.bid(0), t, latency=1)

    yield Task(("Array.get_raw_memory", "RawArrayMemory.load_offset", "RawArrayMemory.store_offset",
                "RawArrayMemory.load_offset(latency)", "RawArrayMemory.store_offset(latency)"), 1, "whole",
               lambda rng: ((sample(kind, (4, 8), rng),), np.zeros((4, 8), kind.host)), copy, lambda ins, out: ins[0])

    for rank, shape in ((2, (4, 8)), (3, (2, 4, 4)), (4, (2, 2, 2, 4))):
        def shaped(ins, out, shape=shape):
            place = ct.arange(32, dtype=ct.int32).reshape(shape) + 32 * ct.bid(0)
            out.get_raw_memory().store_offset(place, ins[0].get_raw_memory().load_offset(place))

        yield Task(("RawArrayMemory.load_offset", "RawArrayMemory.store_offset", "Array.get_raw_memory"), rank, "whole",
                   lambda rng, s=shape: ((sample(kind, (2, *s), rng),), np.zeros((2, *s), kind.host)), shaped,
                   lambda ins, out: ins[0])

    def masked(ins, out):
        place = ct.arange(4, dtype=ct.int64)[:, None] * 8 + ct.arange(8, dtype=ct.int64)
        t = ins[0].get_raw_memory().load_offset(place, mask=place < 21, padding_value=1)
        if ct.bid(0) == 0:
            out.get_raw_memory().store_offset(place, t, mask=place < 30)

    yield Task(("RawArrayMemory.load_offset(mask)", "RawArrayMemory.load_offset(padding_value)",
                "RawArrayMemory.store_offset(mask)"), 2, "mask, ragged",
               lambda rng: ((sample(kind, (21,), rng),), np.zeros(30, kind.host)), masked,
               lambda ins, out: _padded_raw(ins[0], out, kind))

    def scalar(ins, out):
        t = ins[0].get_raw_memory().load_offset(3 + ct.bid(0), mask=ct.bid(0) == 0, padding_value=None)
        out.get_raw_memory().store_offset(ct.bid(0), t, mask=ct.bid(0) < 1)

    yield Task(("RawArrayMemory.load_offset", "RawArrayMemory.store_offset"), 0, "one element",
               lambda rng: ((sample(kind, (5,), rng),), np.zeros(2, kind.host)), scalar, _first_raw)


def _padded_raw(x: Array, out: Array, kind: Kind) -> Array:
    out[:] = np.array(1).astype(kind.host)
    out[:21] = x
    return out


def _first_raw(ins: tuple[Any, ...], out: Array) -> Array:
    out[0] = ins[0][3]
    return out


def batches() -> Iterator[Batch]:
    for kind in ARRAYS:
        yield arraywise(f"raw-{kind}", kind.name, list(raw_tasks(kind)))
