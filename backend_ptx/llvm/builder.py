"""A light text builder for LLVM NVPTX IR: every method appends one line and returns the value it defines.

A `Val` is a scalar (`n == 0`) or a vector `<n x elem>`. All operations work on both; where an operand may be
a Python number it becomes a (splat) constant of the other operand's type. Element types are LLVM's words: "i1"
"i8" "i16" "i32" "i64" "half" "bfloat" "float" "double" "ptr addrspace(1)" ....

Code that only computes (the math library) uses the methods that `Builder` inherits:
    const like  fadd fsub fmul fdiv fneg fma  add sub mul sdiv udiv srem urem  and_ or_ xor shl lshr ashr
    icmp fcmp select cast bitcast  intrinsic call  each  shuffle extract insert
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tilewright.backend_ptx.llvm.arithmetic import Arithmetic
from tilewright.backend_ptx.llvm.constants import WIDE, type_text
from tilewright.backend_ptx.llvm.values import AfterPhis, Number, Operand, Phi, Val, WidePhi

__all__ = ["Builder", "Number", "Operand", "Phi", "Val"]

T = TypeVar("T")

# LLVM's straight-line strength reduction compares each address with all earlier ones of its base: without an end 1,600
# accesses of an array cost 19 s. A copy of the base that LLVM cannot see through starts a new search; ptxas removes it.
BASE_USES = 64
ADDRESS = "ptr addrspace(1)"
COPY_ADDRESS = "mov.b64 $0, $1;"


class Builder(Arithmetic):
    """A function: arithmetic, and what only a function has: memory, blocks and its text. `pairs`: whether instructions
    of the target compute pairs of float32."""

    def __init__(self, pairs: bool = False) -> None:
        super().__init__(WIDE - {"float"} if pairs else WIDE)
        self._phis: list[Phi] = []

    # ---- memory ------------------------------------------------------------------------------------------

    def gep(self, pointer: Val, offset: Operand) -> Val:
        """pointer + offset bytes, the offset in i32 (sign-extended) or i64."""
        if not isinstance(offset, Val):
            offset = self.const("i64", offset)
        if offset.const == 0:
            return pointer
        if offset.const is None and pointer.elem == ADDRESS:
            pointer = self._fresh(pointer)
        return self.computed(pointer.elem, offset.n, f"getelementptr i8, {pointer}, {offset}")

    def _fresh(self, base: Val) -> Val:
        """A base address, or a copy of it that few addresses are counted from."""
        uses = self._base_uses[base.text] = self._base_uses.get(base.text, 0) + 1
        key = base.text, self.block, uses // BASE_USES
        if uses >= BASE_USES and key not in self._bases:
            self._bases[key] = self.emit(base.elem, 0, f'call {base.elem} asm "{COPY_ADDRESS}", "=l,l"({base})')
        return self._bases.get(key, base)

    def load(self, elem: str, n: int, pointer: Val, align: int, *, invariant: bool = False) -> Val:
        """`invariant`: nothing writes there while the kernel runs (the read-only path)."""
        tail = ", !invariant.load !0" if invariant else ""
        return self.emit(elem, n, f"load {type_text(elem, n)}, {pointer}, align {align}{tail}")

    def store(self, value: Val, pointer: Val, align: int) -> None:
        self.raw(f"store {value}, {pointer}, align {align}")

    def add_global(self, text: str) -> None:
        """A module-level definition, once."""
        if text not in self.globals:
            self.globals.append(text)

    # ---- control flow ------------------------------------------------------------------------------------

    def label(self, hint: str = "b") -> str:
        """A new label, not yet placed."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def start(self, label: str) -> None:
        """Place a label: what follows belongs to that block."""
        self.lines.append(f"{label}:")
        self.block, self._computed = label, {}

    def br(self, label: str) -> None:
        self.raw(f"br label %{label}")

    def cbr(self, condition: Val, then: str, other: str) -> None:
        self.raw(f"br {condition}, label %{then}, label %{other}")

    def ret(self) -> None:
        self.raw("ret void")

    @contextmanager
    def when(self, condition: Val | None, hint: str = "then") -> Iterator[None]:
        """What is emitted inside runs only where the condition holds (None: everywhere)."""
        if condition is None or condition.const:
            yield
            return
        inside, done = self.label(hint), self.label("done")
        self.cbr(condition, inside, done)
        self.start(inside)
        yield
        self.br(done)
        self.start(done)

    def branch(self, condition: Val, then: Callable[[], T], other: Callable[[], T],
               hints: tuple[str, str]) -> list[tuple[T, str]]:
        """Two ways that meet again: what each function returned, and the block in which it ended."""
        labels, done = [self.label(hint) for hint in hints], self.label("done")
        self.cbr(condition, *labels)
        arrivals = []
        for label, emit in zip(labels, (then, other), strict=True):
            self.start(label)
            arrivals.append((emit(), self.block))
            self.br(done)
        self.start(done)
        return arrivals

    def join(self, arrivals: Sequence[tuple[Val, str]]) -> Val:
        """The value that arrives from one of several blocks."""
        phi = self.phi(arrivals[0][0].elem, arrivals[0][0].n)
        for value, label in arrivals:
            phi.add(value, label)
        return phi.value

    def repeat(self, first: Val, start: Sequence[Val], body: Callable[[Sequence[Val]], tuple[Val, Sequence[Val]]],
               hints: tuple[str, str]) -> list[list[tuple[Val, str]]]:
        """A loop over values, entered where `first` holds: `body` gives whether it goes on, and the next values. What
        arrives behind it, of each value, is for `join`."""
        (again, done), before = (self.label(hint) for hint in hints), self.block
        self.cbr(first, again, done)
        self.start(again)
        phis = [self.phi(value.elem, value.n) for value in start]
        more, following = body([phi.value for phi in phis])
        arrivals = [[(value, before), (new, self.block)] for value, new in zip(start, following, strict=True)]
        self.cbr(more, again, done)
        for phi, arriving in zip(phis, arrivals, strict=True):
            phi.incoming += arriving
        self.start(done)
        return arrivals

    def phi(self, elem: str, n: int = 0, wide: bool = False) -> Phi:
        """`wide`: other phis of the block follow, and then what takes them apart."""
        self._next += 1
        name = f"%v{self._next}"
        phi = WidePhi(elem, n, name) if wide else Phi(Val(elem, n, name))
        self.lines.append(phi)
        self._phis.append(phi)
        return phi

    def phis(self, like: Sequence[Val]) -> list[Phi]:
        """All phis of a block, with the types of given values; other code must follow, not precede them."""
        out = [self.phi(v.elem, v.n, wide=v.n > 0 and v.elem in WIDE) for v in like]
        self.lines += [AfterPhis(phi) for phi in out if isinstance(phi, WidePhi)]
        return out

    @contextmanager
    def prologue(self) -> Iterator[None]:
        """What is emitted inside stands at the start of the function, so that all later code may use it.

        Only straight-line code from function parameters, constants and other values of the prologue.
        """
        outside = self.lines, self._computed
        self.lines, self._computed = self._prologue, self._always
        try:
            yield
        finally:
            self.lines, self._computed = outside

    # ---- text --------------------------------------------------------------------------------------------

    def head(self) -> list[str]:
        """The lines of the module that stand before the function."""
        types = [f"{name} = type {text}" for text, name in self.types.items()]
        return [*self.globals, *types, *self.declares.values()]

    def text(self) -> str:
        """The body, from `entry:` to the last line."""
        for phi in self._phis:
            phi.settle()
        return "entry:\n" + "\n".join(filter(None, map(str, [*self._prologue, *self.lines]))) + "\n"
