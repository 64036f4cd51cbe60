"""Launches on several threads: the same bits for any number of them, and only where blocks are independent."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp import ExecutionOptions, compile_function, progress, threads
from tilewright.tileir.diagnostics import TileError

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def softmax(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 64), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def product(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), tw.float32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16), padding_mode=ZERO), tw.load(b, (k, j), (16, 16), padding_mode=ZERO),
                     acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def spread(x, out):
    at = tw.bid(0) * 64 + tw.arange(64, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at + 1) * 2.0)


@tw.tile_kernel
def in_place(out):
    i = tw.bid(0)
    tw.store(out, i, tw.sqrt(tw.load(out, i, 64)))


@tw.tile_kernel
def histogram(x, out):
    tw.atomic_add(out, tw.load(x, tw.bid(0), 64), 1)


@tw.tile_kernel
def last_stays(x, out):
    tw.store(out, 0, tw.load(x, tw.bid(0), 64))


@tw.tile_kernel
def shifted(out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(out, i + 1, 64))


@tw.tile_kernel
def sliced(x, ends, out):
    i = tw.bid(0)
    end = tw.load(ends, i, ())
    tw.store(out, i, tw.sum(tw.load(x.slice(0, 0, end), 0, 64, padding_mode=ZERO)))


def floats(*shape: int) -> Any:
    return np.random.default_rng(3).random(shape).astype(np.float32)


def ints(*shape: int) -> Any:
    return np.random.default_rng(3).integers(0, 64, shape).astype(np.int32)


INDEPENDENT = {
    "softmax": (softmax, (90, 1, 1), lambda: (floats(90, 60), floats(90, 60))),
    "product": (product, (9, 8, 1), lambda: (floats(144, 70), floats(70, 128), floats(144, 128))),
    "spread": (spread, (90, 1, 1), lambda: (floats(5760), floats(5760))),
    "in place": (in_place, (90, 1, 1), lambda: (floats(5750),)),
}
OTHERS = {
    "atomics": (histogram, (90, 1, 1), lambda: (ints(5760), ints(64))),
    "one place": (last_stays, (90, 1, 1), lambda: (floats(5760), floats(64))),
    "neighbours": (shifted, (89, 1, 1), lambda: (floats(5760),)),
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads that a launch has used; all launches are long enough for several."""
    monkeypatch.setattr(threads, "PAYS", 0.0)
    used: set[int] = set()
    shared = threads._share

    def watched(chunks: Any, work: Any, most: int) -> None:
        barrier = threading.Barrier(most)

        def each(chunk: Any) -> None:
            if threading.get_ident() not in used:
                used.add(threading.get_ident())
                barrier.wait(10)  # so that no thread takes all of them
            work(chunk)
        shared(chunks, each, most)

    monkeypatch.setattr(threads, "_share", watched)
    return used


def run(case: Any, count: int) -> list[bytes]:
    kernel, grid, make = case
    args = make()
    lowered = kernel.lower(*args)
    compile_function(lowered.tile_ir()).run(grid, lowered.values, ExecutionOptions(threads=count, chunk_blocks=8))
    return [a.tobytes() for a in args]


@pytest.mark.parametrize("name", INDEPENDENT)
def test_bits_are_the_same_for_any_number_of_threads(name: str, seen: set[int]) -> None:
    one = run(INDEPENDENT[name], 1)
    assert not seen
    for count in (2, 3):
        seen.clear()
        assert run(INDEPENDENT[name], count) == one
        assert len(seen) == count


@pytest.mark.parametrize("name", OTHERS)
def test_other_kernels_run_on_one(name: str, seen: set[int]) -> None:
    assert run(OTHERS[name], 1) == run(OTHERS[name], 3)
    assert not seen


def test_of_errors_the_first_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PAYS", 0.0)
    lengths = np.full(90, 64, np.int32)
    lengths[[40, 80]] = 1000
    with pytest.raises(TileError, match="1000"):
        run((sliced, (90, 1, 1), lambda: (floats(64), lengths, floats(90))), 3)


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    threads.wanted.cache_clear()
    monkeypatch.setenv("TILEWRIGHT_THREADS", "5")
    assert threads.wanted() == 5
    threads.wanted.cache_clear()
    monkeypatch.delenv("TILEWRIGHT_THREADS")
    assert threads.wanted() >= 1
    threads.wanted.cache_clear()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_launches_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("AFTER", "EVERY"):
        monkeypatch.setattr(progress, limit, 0.0)
    monkeypatch.delenv("TILEWRIGHT_PROGRESS", raising=False)
    shown = {}
    for terminal, asked in ((False, ""), (True, ""), (False, "1"), (True, "0")):
        stderr = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stderr)
        monkeypatch.setenv("TILEWRIGHT_PROGRESS", asked)
        run(INDEPENDENT["softmax"], 1)
        shown[terminal, asked] = stderr.getvalue()
    assert shown[False, ""] == shown[True, "0"] == ""
    assert "tilewright: softmax: 8 of 90 blocks in 0 s" in shown[False, "1"]
    assert shown[False, "1"].splitlines()[-1].startswith("tilewright: softmax: 90 of 90 blocks")
    assert "\n" not in shown[True, ""] and shown[True, ""].endswith(" \r")
