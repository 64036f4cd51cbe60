"""The engines of NVIDIA GPUs, one record each, and what their fences and waits order.

| engine | who issues | what it touches | who waits |
|---|---|---|---|
| threads | | everything | nobody: in program order |
| cp.async | each thread its own bytes | global to shared | the thread, by groups; others after a barrier |
| TMA load | the producer | global to shared | whoever waits on the slot's mbarrier |
| TMA store | one lane of each storing warp | shared to global | that lane, by groups |
| wgmma | a warpgroup | shared and registers to accumulators in registers | the warpgroup, by groups |
| mbarrier | every role, and TMA | words in shared memory | |
| cluster store | threads of the other CTAs | rows in shared memory | mbarriers |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tilewright.tileir.engines import (
    SHARED,
    THREADS,
    Engine,
    Fence,
    Issuer,
    Proxy,
    Scope,
    Timeline,
    after,
    all_spaces,
    barrier,
    timelines,
)

CP_ASYNC = Engine("cp.async", counted=True, in_order=True)
TMA_LOAD = Engine("TMA load", Issuer.ELECTED, Proxy.ASYNC, swizzles=True)
TMA_STORE = Engine("TMA store", Issuer.ELECTED, Proxy.ASYNC, counted=True, lasting=True, swizzles=True)
WGMMA = Engine("wgmma", Issuer.WARPGROUP, Proxy.ASYNC, multiplies=True, in_order=True, swizzles=True)
MBARRIER = Engine("mbarrier", Issuer.ELECTED)
CLUSTER_STORE = Engine("cluster store", Issuer.WARP)
# Not an engine of its own: whatever the async proxy sees, each engine on it sees when it starts.
_ASYNC_PROXY = Engine("async proxy", proxy=Proxy.ASYNC)


# fence.proxy.async makes what the thread sees in shared memory visible to the async proxy (PTX ISA, "Async proxy").
PROXY_FENCE = Fence(timelines([THREADS], [SHARED]), timelines([_ASYNC_PROXY], [SHARED]))


@cache
def completion(engine: Engine) -> Fence:
    """A wait for all that the thread has started on an engine: then the thread itself sees it."""
    return Fence(timelines([engine], all_spaces()), timelines([THREADS], all_spaces()))


def start(engine: Engine) -> Fence:
    """What starting an engine implies: it sees what its proxy sees; for the generic proxy, what the thread sees."""
    seen = THREADS if engine.proxy is Proxy.GENERIC else _ASYNC_PROXY
    return Fence(timelines([seen], [SHARED]), timelines([engine], [SHARED]))


def reaches(writer: Engine, reader: Engine, fences: Sequence[Fence]) -> bool:
    """Whether what `writer` wrote to shared memory for one thread is visible to `reader`, started by any thread of the
    CTA after a wait for the writer and then these fences."""
    waited = [] if writer is THREADS else [completion(writer)]
    done = after(Timeline(writer, SHARED), [*waited, *fences, start(reader)])
    return done.does(Fence(timelines([writer], [SHARED]), timelines([reader], [SHARED]), Scope.CTA))


@cache
def needs_proxy_fence(writer: Engine, reader: Engine) -> bool:
    """Whether bytes of shared memory from `writer` reach `reader` only through a proxy fence: a barrier of the CTA
    alone does not do what the reader asks."""
    return not reaches(writer, reader, [barrier(Scope.CTA)])
