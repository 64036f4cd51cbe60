"""SSA values of the builder: scalars, vectors, vectors known lane by lane, phis.

LLVM spends much time on `insertelement` chains and wide phis: it takes each apart again, over several passes. So a
vector that was made of scalars keeps them (`Gathered`), and reaches the text only where an instruction reads it whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.llvm.constants import FLOATS, const_text, type_text

Number = int | float


class Val:
    """An SSA value or a constant: `type` and `text` are LLVM's; `const` is a (splat) constant's number."""

    __slots__ = ("elem", "n", "type", "text", "const")

    def __init__(self, elem: str, n: int, text: str, const: Number | None = None) -> None:
        self.elem = elem
        self.n = n
        self.type = f"<{n} x {elem}>" if n else elem
        self.text = text
        self.const = const

    @property
    def is_float(self) -> bool:
        return self.elem in FLOATS

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    __repr__ = __str__


Operand = Val | int | float


class Tracked(Val):
    """A value that knows whether some line has read its `text`."""

    __slots__ = ("name", "used")

    def __init__(self, elem: str, n: int, name: str) -> None:
        self.elem, self.n, self.type, self.const = elem, n, type_text(elem, n), None
        self.name, self.used = name, False

    def __getattr__(self, attribute: str) -> str:
        """`text`, the first time: until then the slot is empty."""
        if attribute != "text":
            raise AttributeError(attribute)
        self.used = True
        self.text = self.name
        self.reached()
        return self.name

    def reached(self) -> None:
        """Called when a line reads the value for the first time."""


class Gathered(Tracked):
    """A vector known lane by lane. Its definition stands where it was made, if anything reads it whole."""

    __slots__ = ("lanes", "tail")

    def __init__(self, name: str, lanes: Sequence[Val], tail: str = "") -> None:
        super().__init__(lanes[0].elem, len(lanes), name)
        self.lanes, self.tail = lanes, tail

    def reached(self) -> None:
        for lane in self.lanes:
            assert lane.text

    def definition(self) -> str:
        lines, before = [], "poison"
        for i, lane in enumerate(self.lanes):
            name = self.name if i == self.n - 1 else f"{self.name}.{i}"
            lines.append(f"  {name} = insertelement {self.type} {before}, {lane}, i32 {i}{self.tail}")
            before = name
        return "\n".join(lines)


class Definition:
    """The place in the text where a gathered vector would be defined."""

    __slots__ = ("value",)

    def __init__(self, value: Gathered) -> None:
        self.value = value

    def __str__(self) -> str:
        return self.value.definition() if self.value.used else ""


class Phi:
    """A phi under construction: `value` may be used at once, `add` names what arrives from each block."""

    __slots__ = ("value", "incoming")

    def __init__(self, value: Val) -> None:
        self.value = value
        self.incoming: list[tuple[Val, str]] = []

    def add(self, value: Val, label: str) -> None:
        self.incoming.append((value, label))

    def settle(self) -> None:
        """Called once when all has arrived, before any line is written."""
        for value, _ in self.incoming:
            assert value.text

    def __str__(self) -> str:
        return _phi(self.value, self.incoming)


class PhiVector(Gathered):
    """The vector of a wide phi: whether it is made of its lanes shows at the end only."""

    __slots__ = ()

    def reached(self) -> None:
        pass


class WidePhi(Phi):
    """A phi of a vector of 32- or 64-bit lanes: one for each lane where all that arrives is known lane by lane."""

    __slots__ = ("by_lane",)
    value: Gathered

    def __init__(self, elem: str, n: int, name: str) -> None:
        super().__init__(PhiVector(name, [Tracked(elem, 0, f"{name}.lane{i}") for i in range(n)]))
        self.by_lane = False

    def settle(self) -> None:
        self.by_lane = all(v.const is not None or isinstance(v, Gathered) for v, _ in self.incoming)
        if not self.by_lane:
            super().settle()
            return
        for value, _ in self.incoming:
            if isinstance(value, Gathered):
                for lane in value.lanes:
                    assert lane.text

    def __str__(self) -> str:
        if not self.by_lane:
            return super().__str__()
        return "\n".join(
            _phi(lane, [(_lane(v, i), label) for v, label in self.incoming])
            for i, lane in enumerate(self.value.lanes) if _used(lane) or self.value.used
        )


class AfterPhis:
    """What follows the phis of a block: the lanes of a vector's phi, or the vector of its lanes' phis."""

    __slots__ = ("phi",)

    def __init__(self, phi: WidePhi) -> None:
        self.phi = phi

    def __str__(self) -> str:
        value = self.phi.value
        if self.phi.by_lane:
            return value.definition() if value.used else ""
        return "\n".join(f"  {lane.name} = extractelement {value.type} {value.name}, i32 {i}"  # type: ignore[attr-defined]
                         for i, lane in enumerate(value.lanes) if _used(lane))


def _phi(value: Val, incoming: Sequence[tuple[Val, str]]) -> str:
    name = value.name if isinstance(value, Tracked) else value.text
    arrivals = ", ".join(f"[ {v.text}, %{label} ]" for v, label in incoming)
    return f"  {name} = phi {value.type} {arrivals}"


def _lane(value: Val, i: int) -> Val:
    if isinstance(value, Gathered):
        return value.lanes[i]
    assert value.const is not None
    return Val(value.elem, 0, const_text(value.elem, value.const))


def _used(lane: Val) -> bool:
    return not isinstance(lane, Tracked) or lane.used
