"""Accesses of the scope SYS: PTX says so, and nothing that others may write is read before they say that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.inspecting.decisions import decisions

ACQUIRE, RELEASE = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE
SYS, DEVICE = tw.MemoryScope.SYS, tw.MemoryScope.DEVICE


@tw.tile_kernel
def every(x, out, scope: tw.Constant[Any]):
    seen = tw.load(x, 0, (), memory_order=ACQUIRE, memory_scope=scope)
    seen += tw.load(x, 1, (), memory_order=tw.MemoryOrder.RELAXED, memory_scope=scope)
    tw.store(x, 2, seen, memory_order=RELEASE, memory_scope=scope)
    seen += tw.atomic_add(x, 3, 1, memory_scope=scope) + tw.atomic_cas(x, 4, 0, 1, memory_scope=scope)
    seen += tw.atomic_xchg(x, 5, 1, memory_order=ACQUIRE, memory_scope=scope)
    tw.store(out, 0, seen)


@pytest.mark.parametrize(("scope", "word"), [(SYS, ".sys"), (DEVICE, ".gpu")])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120"])
def test_ptx_has_the_scope(scope: Any, word: str, target: str) -> None:
    ptx = every.lower(np.zeros(8, np.int32), np.zeros(1, np.int32), scope, target=target).compiled.ptx
    ordered = [line for line in ptx.splitlines() if "ld.acquire" in line or "ld.relaxed" in line or "st.release" in line
               or "atom." in line]
    assert len(ordered) == 6 and all(f"{word}." in line for line in ordered), ordered


@tw.tile_kernel
def product_of_what_arrives(a, ready, b, c, first, scope: tw.Constant[Any], tile: tw.Constant[int]):
    """Tiles of a may be written by others while the kernel runs: the flag of their rows says that they are there."""
    for number in range(tw.bid(0), tw.cdiv(a.shape[0], tile), tw.num_blocks(0)):
        i = (number + first) % tw.cdiv(a.shape[0], tile)
        while tw.load(ready, i, (), memory_order=ACQUIRE, memory_scope=scope) == 0:
            pass
        acc = tw.zeros((tile, tile), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tile, tile))):
            acc = tw.mma(tw.load(a, (i, k), (tile, tile)), tw.load(b, (k, 0), (tile, tile)), acc)
        tw.store(c, (i, 0), acc)


def arguments(scope: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-3, 4, (128, 128)).astype(np.float16), rng.integers(-3, 4, (128, 64)).astype(np.float16)
    return a, np.ones(2, np.int32), b, np.zeros((128, 64), np.float32), 1, scope, 64


def test_no_copy_runs_ahead_of_an_acquire_from_the_system() -> None:
    """A producer does not wait for what the others wait for, so it must not load what they wait for."""
    made = {scope: product_of_what_arrives.lower(*arguments(scope), target="sm_90a") for scope in (SYS, DEVICE)}
    told = "\n".join(decisions(product_of_what_arrives, arguments(SYS), "sm_90a"))
    assert "a stays a load" in told and "waits for others that may" in told
    assert "cp.async.bulk.tensor" not in made[SYS].compiled.ptx
    assert "cp.async.bulk.tensor" in made[DEVICE].compiled.ptx  # arrays that the launch does not write do not change


def test_what_the_system_may_write_is_no_constant() -> None:
    @tw.tile_kernel
    def kernel(x, ready, out, scope: tw.Constant[Any]):
        before = tw.load(x, 0, 128)
        while tw.load(ready, 0, (), memory_order=ACQUIRE, memory_scope=scope) == 0:
            pass
        tw.store(out, 0, before + tw.load(x, 0, 128))

    arrays = np.zeros(128, np.int32), np.zeros(1, np.int32), np.zeros(128, np.int32)
    made = {scope: kernel.lower(*arrays, scope, target="sm_90a").compiled for scope in (SYS, DEVICE)}
    for scope in (SYS, DEVICE):
        ptx = made[scope].ptx
        found = [line for line in ptx.splitlines() if "ld.global" in line]
        assert len(found) == 2, ptx
        assert any(".nc" in line for line in found) is (scope is DEVICE)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_simulated(target: str) -> None:
    a, ready, b, c, *rest = arguments(SYS)
    product_of_what_arrives.simulate((2,), a, ready, b, c, *rest, target=target)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
