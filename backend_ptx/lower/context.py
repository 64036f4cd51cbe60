"""The state of lowering one kernel: the builder, the fragment of every value, and which thread this is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import count
from typing import Any

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.module import DebugLines
from tilewright.backend_ptx.lower.fragments import Fragment, elem_of, lanes_of
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.resources.occupancy import spare_registers
from tilewright.backend_ptx.roles import CONSUMER
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE_BITS, distributed, log2
from tilewright.tileir.types import TileType


def param_name(position: int) -> str:
    """The names of the kernel's parameters in the LLVM text."""
    return f"p{position}"


class Context(Compilation):
    """A compilation that emits text: `ctx[value]` is the fragment of a value; `ctx.set` defines one.

    `tid` is the thread's number in the CTA: lane in bits 0-4, warp above; where several `teams` of warps run the part,
    its number in the team. `memo` holds values of the prologue, which all code may use (see `once`), and by each block
    the elements that its gathers have read, by name. `warps` compute tiles; of a kernel with roles they are the first.
    `first_thread` of another role is the one that runs it.
    """

    def __init__(self, function: Function, target: Target, abi: KernelAbi, warps: int,
                 debug: DebugLines | None = None) -> None:
        super().__init__(function, target)
        self.abi = abi
        self._places = {(p.kind, p.argument, p.axis): place for place, p in enumerate(abi.params)}
        self.warps = warps
        self.teams = 1
        self.all_warps = function.plan.all_warps
        self.first_thread = 32 * warps
        self.b = Builder(target.has_packed_floats)
        self.debug = debug
        self.memo: dict[Any, Any] = {}
        self.first_register = 0  # of the part of each tile that is lowered: strips differ
        self.runs_of_ops = count()  # numbers them
        self._fragments: dict[Value, Any] = {}

    def part(self, function: Function, role: str, copies: Mapping[Value, Value]) -> Context:
        """A context that goes on in the same text with the function of a role, whose values are copies."""
        out = Context(function, self.target, self.abi, self.warps, self.debug)
        out.take_facts(self, copies)
        out.first_thread = 32 * function.plan.first_warp(role)
        out.b, out.memo = self.b, self.memo
        if role == CONSUMER and function.plan.teams > 1:  # other numbers of threads than the rest of the kernel
            out.teams, out.memo = function.plan.teams, {}
        return out

    def __contains__(self, value: Value) -> bool:
        """Whether a value has a fragment: tests of columns that strips make where they use them have none."""
        return value in self._fragments

    # Any, because the op's type rule decides which kind of fragment an operand has.
    def __getitem__(self, value: Value) -> Any:
        return self._fragments[value]

    def set(self, value: Value, fragment: Fragment | Any) -> None:
        """Define a value. A tile's vector must fit its type."""
        if isinstance(value.type, TileType) and isinstance(fragment, Val):
            wanted = (elem_of(value.type.dtype), lanes_of(value.type))
            assert (fragment.elem, fragment.n) == wanted, f"{value}: expected {wanted}, got {fragment}"
        self._fragments[value] = fragment

    def param(self, position: int) -> Val:
        """A parameter of the kernel, as it was passed."""
        return Val(self.abi.params[position].llvm_type, 0, f"%{param_name(position)}")

    def argument(self, kind: str, number: int, axis: int = -1) -> Val:
        """The parameter that carries this part of an argument."""
        return self.param(self._places[kind, number, axis])

    def layout(self, value: Value) -> Layout:
        """The layout of a tile. A scalar lies in one register of every thread."""
        return self.layout_of(value.type)

    def layout_of(self, type: TileType) -> Layout:
        """`layout` by the tile's type."""
        if not type.shape:
            return distributed((), [], [0] * LANE_BITS, [0] * log2(self.warps))
        assert type.layout is not None, f"{type} has no layout"
        return type.layout

    def vector(self, value: Value) -> Val:
        """A tile's fragment; that of a scalar as a vector of length 1."""
        fragment: Val = self[value]
        return fragment if fragment.n else self.b.vector([fragment])

    def integer(self, value: Value, elem: str) -> Val:
        """An integer (or a tile of them) of any width in the integer type `elem`."""
        return resized(self.b, self[value], value.type.dtype.is_signed, elem)

    def lanes(self, value: Value) -> int:
        """Length of the vector of a tile; 0 for a scalar."""
        return lanes_of(value.type)

    @property
    def tid(self) -> Val:
        number = self.special_register("tid.x")
        alone = self.teams == self.function.plan.packed == 1
        return number if alone else self.once("tid", lambda b: b.and_(number, 32 * self.warps - 1))

    @property
    def team(self) -> Val:
        """The number of the warps' team."""
        return self.uniform("team", lambda b: b.lshr(self.special_register("tid.x"), LANE_BITS + log2(self.warps)))

    def lane(self) -> Val:
        """The thread's number in its warp."""
        return self.once("lane", lambda b: b.and_(self.tid, 31))

    def warp(self) -> Val:
        """The warp's number in the CTA."""
        return self.once("warp", lambda b: b.lshr(self.tid, 5))

    def is_first(self) -> Val:
        """Whether this is the first thread of the CTA."""
        return self.once("first thread", lambda b: b.icmp("eq", self.tid, 0))

    def thread_bit(self, number: int) -> Val:
        """Whether a bit of the thread's number is set."""
        return self.once(("thread bit", number), lambda b: b.icmp("ne", b.and_(self.tid, 1 << number), 0))

    @cached_property
    def spare_registers(self) -> int:
        """Those of each thread beside its tiles: what is lowered changes nothing of them."""
        return spare_registers(self.function, self.target)

    def special_register(self, name: str) -> Val:
        """A register such as tid.x or ctaid.y, read once."""
        return self.once(name, lambda b: b.call(f"llvm.nvvm.read.ptx.sreg.{name}", "i32", []))

    def once(self, key: Any, make: Any) -> Val:
        """`make(b)`, emitted in the prologue the first time; it may use kernel parameters and other such values."""
        if key not in self.memo:
            with self.b.prologue():
                self.memo[key] = make(self.b)
        value: Val = self.memo[key]
        return value

    def uniform(self, key: Any, make: Callable[[Builder], Val]) -> Val:
        """`once` for a warp-uniform number: by a shuffle, after which ptxas knows that it is uniform."""
        return self.once(key, lambda b: instruction("shfl.idx").emit1(b, make(b), b.const("i32", 0)))

    def locate(self, span: Span, loop: Span = NO_SPAN) -> None:
        """What is emitted from here on has this span in the user's program. `loop`: where a loop that the next branch
        closes starts."""
        if self.debug is not None and span is not NO_SPAN:
            self.b.dbg = self.debug.tail(span, loop)
