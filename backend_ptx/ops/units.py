"""Matrix units: one record for each family of matrix instructions, which passes query.

| unit | A | B | accumulators | who issues | who waits |
|---|---|---|---|---|---|
| `mma.sync` | registers | registers | registers | a warp | nobody |
| `wgmma` | shared or registers | shared | registers | a warpgroup | the warpgroup, by groups of MMAs |
| `fma` | registers | registers | registers | a thread | nobody |

The records stand beside their ops (ops/matmul.py, ops/warpgroup.py). A unit with accumulators in a space of its own
says by which ops tiles go there (`enter`) and come back (`fetch`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.backend_ptx.layouts.mma import ProductLayouts
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span
from tilewright.tileir.engines import REGISTERS, SHARED, THREADS, Engine, Space

UNITS: dict[str, MatrixUnit] = {}
"""Every declared unit by name. Importing `tilewright.backend_ptx.ops` fills it."""


def units_of(target: Target) -> list[MatrixUnit]:
    """The units of a target, the preferred one first."""
    return [UNITS[name] for name in target.matrix_units]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixUnit:
    """`engine` executes the MMAs; its `issuer` starts them. `a` and `b` are the spaces where operands may live, and
    `accumulators` that of the results until a wait.

    `warps` start an instruction together: a kernel has at least so many. `rows` and `columns` are the least tile.
    Of a product, `depth` is the k of one instruction, `layouts(product, warps, rows_only)` how threads hold its tiles
    (`rows_only`: warps own whole rows), `transposes` whether operands in shared memory may be dense along m or n, and
    `describe` its name in reports. `wait(accs=, pending=)` makes the op that waits, `enter(src=)` and `fetch(src=)`
    those that move a tile between registers and the accumulators' space.
    """

    name: str
    engine: Engine
    depth: Callable[[Any], int]
    layouts: Callable[[Any, int, bool], ProductLayouts]
    describe: Callable[[Any], str]
    a: tuple[Space, ...] = (REGISTERS,)
    b: tuple[Space, ...] = (REGISTERS,)
    accumulators: Space = REGISTERS
    warps: int = 1
    rows: int = 1
    columns: int = 1
    transposes: Callable[[Any], bool] = bool
    wait: Callable[..., Op] | None = None
    enter: Callable[..., Op] | None = None
    fetch: Callable[..., Op] | None = None

    def __post_init__(self) -> None:
        assert self.name not in UNITS, f"two matrix units are called {self.name}"
        assert (self.wait is None) == (self.engine is THREADS), f"{self.name}: who waits for {self.engine.name}?"
        own = self.accumulators is not REGISTERS
        assert (self.enter is not None) == (self.fetch is not None) == own, f"{self.name}: how do accumulators move?"
        UNITS[self.name] = self

    @property
    def asynchronous(self) -> bool:
        """Whether its MMAs are outstanding until a wait."""
        return self.engine is not THREADS

    @property
    def reads_shared(self) -> bool:
        """Whether B is an operand in shared memory."""
        return SHARED in self.b

    @property
    def a_anywhere(self) -> bool:
        """Whether A may live in shared memory and in registers."""
        return SHARED in self.a and REGISTERS in self.a

    def wait_for(self, accs: tuple[Value, ...] = (), pending: int = 0, span: Span = NO_SPAN) -> Op:
        """The op that waits until at most the newest `pending` MMAs are outstanding, and gives the accumulators."""
        assert self.wait is not None, f"{self.name}: nothing to wait for"
        return self.wait(accs=accs, pending=pending, span=span)
