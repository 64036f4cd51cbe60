"""The engines' table: which fences bring bytes from one engine to another, and that every op's effects name it."""

from __future__ import annotations

import itertools

import pytest

import tilewright.backend_ptx.ops  # noqa: F401
from tilewright.backend_ptx.ops.async_copy import AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.bulk import MbarrierInit, TmaLoad, TmaStore, TmaStoreWait
from tilewright.backend_ptx.ops.engines import (
    CP_ASYNC,
    PROXY_FENCE,
    TMA_LOAD,
    TMA_STORE,
    WGMMA,
    barrier,
    needs_proxy_fence,
    reaches,
)
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.ops.warpgroup import ProxyFence
from tilewright.tileir.core import OPS, Op
from tilewright.tileir.engines import EVERY, GLOBAL, SHARED, THREADS, Engine, Proxy, Scope, Timeline, space

CTA = barrier(Scope.CTA)
GENERIC, ASYNC = (THREADS, CP_ASYNC), (WGMMA, TMA_STORE, TMA_LOAD)


@pytest.mark.parametrize(("writer", "reader"), list(itertools.product(GENERIC, ASYNC)))
def test_generic_writes_reach_the_async_proxy_by_a_proxy_fence(writer: Engine, reader: Engine) -> None:
    assert needs_proxy_fence(writer, reader)
    assert reaches(writer, reader, [PROXY_FENCE, CTA])
    assert not reaches(writer, reader, [PROXY_FENCE])  # of other threads' writes the fence says nothing
    assert not reaches(writer, reader, [CTA])
    assert not reaches(writer, reader, [PROXY_FENCE, barrier(Scope.WARP)])


@pytest.mark.parametrize(("writer", "reader"), list(itertools.product(GENERIC, GENERIC)))
def test_between_generic_engines_a_barrier_is_enough(writer: Engine, reader: Engine) -> None:
    assert not needs_proxy_fence(writer, reader)
    assert not reaches(writer, reader, [])


def test_a_barrier_waits_for_no_engine() -> None:
    for engine in (CP_ASYNC, *ASYNC):
        assert Timeline(engine, SHARED) not in CTA.waits
    assert {Timeline(THREADS, SHARED), Timeline(THREADS, GLOBAL)} <= CTA.waits


def test_a_barrier_orders_spaces_declared_later() -> None:
    mine = space("a space of this test")
    assert Timeline(THREADS, mine) in barrier(Scope.CTA).waits


def test_an_engine_of_ones_own_needs_what_its_proxy_says() -> None:
    assert needs_proxy_fence(THREADS, Engine("mine", proxy=Proxy.ASYNC))
    assert not needs_proxy_fence(THREADS, Engine("mine", proxy=Proxy.GENERIC))


def declared(op: type[Op]) -> tuple[object, object, object]:
    return op._engine, op._waits_for, op._fence


def test_ops_declare_their_engines() -> None:
    assert declared(AsyncLoad) == (CP_ASYNC, None, None) and declared(AsyncWait) == (None, CP_ASYNC, None)
    assert declared(TmaStore) == (TMA_STORE, None, None) and declared(TmaStoreWait) == (None, TMA_STORE, None)
    assert declared(TmaLoad) == (TMA_LOAD, None, None) and MbarrierInit._role == EVERY
    assert ProxyFence().effects().fence is PROXY_FENCE
    for scope, name in ((Scope.CTA, "block"), (Scope.WARP, "warp")):
        assert Barrier(scope=name).effects().fence is barrier(scope)


def test_what_threads_start_somebody_waits_for() -> None:
    """Of every engine whose accesses are ordered by waits of threads there is an op that waits."""
    started = {op._engine for op in OPS.values() if op._engine is not None and set(op._reads + op._writes) - set(
        op._exclusive)}
    assert started <= {op._waits_for for op in OPS.values()}, "an engine that no op waits for"
