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
        self.need()
        return self.name

    def need(self) -> None:
        """Some line reads the value."""
        self.used = True
        self.text = self.name


def need(values: Sequence[Val]) -> None:
    """Some line reads all of these."""
    for value in values:
        if isinstance(value, Tracked) and not value.used:
            value.need()


class Gathered(Tracked):
    """A vector known lane by lane. Its definition stands where it was made, if anything reads it whole."""

    __slots__ = ("lanes", "tail")

    def __init__(self, name: str, lanes: Sequence[Val], tail: str = "") -> None:
        super().__init__(lanes[0].elem, len(lanes), name)
        self.lanes, self.tail = lanes, tail

    def need(self) -> None:
        super().need()
        need(self.lanes)

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
        need([value for value, _ in self.incoming])

    def __str__(self) -> str:
        return _phi(self.value, self.incoming)


class PhiVector(Gathered):
    """The vector of a wide phi: whether it is made of its lanes shows at the end only."""

    __slots__ = ()
    lanes: Sequence[Tracked]

    def need(self) -> None:
        Tracked.need(self)


class WidePhi(Phi):
    """A phi of a vector of 32- or 64-bit lanes: one for each lane where all that arrives is known lane by lane."""

    __slots__ = ("by_lane",)
    value: PhiVector

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
                need(value.lanes)

    def __str__(self) -> str:
        if not self.by_lane:
            return super().__str__()
        wanted = [i for i, lane in enumerate(self.value.lanes) if self.value.used or lane.used]
        arrivals = [_lanes(value, label, wanted) for value, label in self.incoming]
        lanes = (self.value.lanes[i] for i in wanted)
        return "\n".join(f"  {lane.name} = phi {lane.type} {', '.join(each)}"
                         for lane, *each in zip(lanes, *arrivals, strict=True))


class AfterPhis:
    """What follows the phis of a block: the lanes of a vector's phi, or the vector of its lanes' phis."""

    __slots__ = ("phi",)

    def __init__(self, phi: WidePhi) -> None:
        self.phi = phi

    def __str__(self) -> str:
        value = self.phi.value
        if self.phi.by_lane:
            return value.definition() if value.used else ""
        return "\n".join(f"  {lane.name} = extractelement {value.type} {value.name}, i32 {i}"
                         for i, lane in enumerate(value.lanes) if lane.used)


def _phi(value: Val, incoming: Sequence[tuple[Val, str]]) -> str:
    name = value.name if isinstance(value, Tracked) else value.text
    arrivals = ", ".join(f"[ {v.text}, %{label} ]" for v, label in incoming)
    return f"  {name} = phi {value.type} {arrivals}"


def _lanes(value: Val, label: str, wanted: Sequence[int]) -> list[str]:
    """How some lanes of a vector arrive from a block."""
    if isinstance(value, Gathered):
        return [f"[ {value.lanes[i].text}, %{label} ]" for i in wanted]
    assert value.const is not None
    return [f"[ {const_text(value.elem, value.const)}, %{label} ]"] * len(wanted)
