"""Engines, memory spaces and fences: the vocabulary in which ops say what outlives them, and what waits for it.

Threads execute in order. Beside them run engines (asynchronous copies, tensor cores): an op starts one, and its
accesses stay outstanding until another op waits for them. A *timeline* is one engine in one memory space. A fence is
two sets of timelines: the accesses it waits for, and those to which it makes them visible. "Does fence A do what B
asks" is a subset test. (The idea is Exo's: exo-lang/exo, spork/timelines.py.)

The engines of NVIDIA GPUs stand in backend_ptx/ops/engines.py.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A memory space. A unit may bring its own, for example for its accumulators: `space` declares it."""

    name: str


_SPACES: dict[str, Space] = {}


def space(name: str) -> Space:
    """The memory space of this name, declared at its first use."""
    return _SPACES.setdefault(name, Space(name))


def all_spaces() -> tuple[Space, ...]:
    """Every space declared so far."""
    return tuple(_SPACES.values())


GLOBAL, SHARED, REGISTERS = space("global"), space("shared"), space("registers")

# The role that executes what no op assigns to another; "every role, before they diverge"; "each role, where it stands".
MAIN, EVERY, ALL = "consumer", "every role", "all roles"


class Scope(enum.IntEnum):
    """Whose accesses a fence orders; a wider scope includes the narrower ones. NOTHING: no fence at all."""

    NOTHING = 0
    THREAD = 1
    WARP = 2
    CTA = 3
    CLUSTER = 4


class Issuer(enum.Enum):
    """Who starts an engine, and so whose waits cover what it does."""

    THREAD = "thread"  # each thread its own part
    WARP = "warp"
    WARPGROUP = "warpgroup"
    ELECTED = "one elected thread"


class Proxy(enum.Enum):
    """The path to memory. Accesses on different paths need a proxy fence between them (PTX ISA, "Proxies")."""

    GENERIC = "generic"
    ASYNC = "async"


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """What executes accesses. `THREADS` is the one that completes before the next op; all others run beside it.

    `multiplies`: it computes matrix multiplies, and reads operands while it runs. `in_order`: its accesses to one
    memory complete in the order in which they were started. `counted`: the pass that emits a wait has counted the
    groups, so that whatever is used after the wait has landed, however many groups stay outstanding. `lasting`: nobody
    tracks when its last reads of a buffer end, so that they may last until the kernel does. `swizzles`: it computes
    swizzles from addresses, so that its buffers need the alignment of whole swizzle patterns.
    """

    name: str
    issuer: Issuer = Issuer.THREAD
    proxy: Proxy = Proxy.GENERIC
    multiplies: bool = False
    in_order: bool = False
    counted: bool = False
    lasting: bool = False
    swizzles: bool = False

    @property
    def family(self) -> str:
        """The name under which users know it: TMA both loads and stores."""
        return self.name.partition(" ")[0]


THREADS = Engine("threads", in_order=True)


@dataclass(frozen=True, slots=True)
class Timeline:
    """One engine in one memory space."""

    engine: Engine
    space: Space


Timelines = frozenset[Timeline]


def timelines(engines: Iterable[Engine], spaces: Iterable[Space]) -> Timelines:
    """Every engine in every space."""
    spaces = tuple(spaces)
    return frozenset(Timeline(engine, space) for engine in engines for space in spaces)


@dataclass(frozen=True, slots=True)
class Fence:
    """After it, the earlier accesses on the timelines `waits` are complete, and visible to the later accesses on the
    timelines `visible` by all threads of `scope`."""

    waits: Timelines
    visible: Timelines
    scope: Scope = Scope.THREAD

    def does(self, asked: Fence) -> bool:
        """Whether it does all that another fence would."""
        return asked.waits <= self.waits and asked.visible <= self.visible and asked.scope <= self.scope


def barrier(scope: Scope) -> Fence:
    """All threads of a scope synchronise: each sees what the others did before, in any space."""
    return _barrier(scope, len(all_spaces()))


@cache
def _barrier(scope: Scope, spaces: int) -> Fence:
    every = timelines([THREADS], all_spaces()[:spaces])
    return Fence(every, every, scope)


def after(access: Timeline, fences: Iterable[Fence]) -> Fence:
    """What fences, executed one after the other, do for an access on a timeline before them.

    What a thread wrote itself it sees. Each fence adds to those who see the access, if it waits for one of those who
    see it already: a wait hands a copy's bytes to the thread, from where a barrier hands them to all threads.
    """
    visible, scope = frozenset([access]), Scope.THREAD
    for fence in fences:
        if visible & fence.waits:
            visible, scope = visible | fence.visible, max(scope, fence.scope)
    return Fence(frozenset([access]), visible, scope)
