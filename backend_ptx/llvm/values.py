"""SSA values of the builder: scalars, vectors, vectors known by their parts or as lanes of others, phis.

LLVM spends much time on `insertelement` chains, wide vectors and wide phis: it takes each apart again, over several
passes. So a vector that was made of scalars or of shorter vectors keeps them (`Parts`), and reaches the text only where
an instruction reads it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


class Parts(Tracked):
    """A vector known by its parts: scalars, or a power of two of vectors of one length.

    Its definition stands where it was made, if anything reads it whole. `per`: lanes of a part, 0 for scalars.
    """

    __slots__ = ("parts", "per", "tail")

    def __init__(self, name: str, parts: Sequence[Val], tail: str = "") -> None:
        self.parts, self.per, self.tail = parts, parts[0].n, tail
        super().__init__(parts[0].elem, len(parts) * max(1, self.per), name)

    def need(self) -> None:
        super().need()
        need(self.parts)

    def definition(self) -> str:
        return "\n".join(self._joined() if self.per else self._inserted())

    def _inserted(self) -> list[str]:
        names = [*(f"{self.name}.{i}" for i in range(self.n - 1)), self.name]
        start, end = f"insertelement {self.type}", self.tail
        return [f"  {name} = {start} {before}, {self.elem} {lane.text}, i32 {i}{end}" for i, (name, before, lane)
                in enumerate(zip(names, ("poison", *names[:-1]), self.parts, strict=True))]

    def _joined(self) -> Iterator[str]:
        """Two parts at a time."""
        names, lanes, count = [p.text for p in self.parts], self.per, 0
        while len(names) > 1:
            joined, mask = [], ", ".join(f"i32 {i}" for i in range(2 * lanes))
            for a, b in zip(names[::2], names[1::2], strict=True):
                count += 1
                joined.append(self.name if len(names) == 2 else f"{self.name}.{count}")
                half = type_text(self.elem, lanes)
                yield f"  {joined[-1]} = shufflevector {half} {a}, {half} {b}, <{2 * lanes} x i32> <{mask}>{self.tail}"
            names, lanes = joined, 2 * lanes


class Shuffled(Tracked):
    """A vector known as lanes of another one, of which shuffles of it take what they need: as `Parts`, it is defined if
    anything reads it whole. LLVM takes each wide shuffle apart, lane by lane."""

    __slots__ = ("source", "lanes", "tail")

    def __init__(self, name: str, source: Val, lanes: Sequence[int], tail: str) -> None:
        super().__init__(source.elem, len(lanes), name)
        self.source, self.lanes, self.tail = source, lanes, tail

    def definition(self) -> str:
        return f"  {self.name} = {shuffle_text(self.source, 'poison', self.lanes)}{self.tail}"

    def need(self) -> None:
        super().need()
        need([self.source])


class Recast(Tracked):
    """The bits of another value as this type, which inline assembly takes as they are (`Instruction.emit`): as `Parts`,
    it is defined if anything else reads it."""

    __slots__ = ("source", "tail")

    def __init__(self, name: str, source: Val, elem: str, n: int, tail: str) -> None:
        super().__init__(elem, n, name)
        self.source, self.tail = source, tail

    def definition(self) -> str:
        return f"  {self.name} = bitcast {self.source} to {self.type}{self.tail}"

    def need(self) -> None:
        super().need()
        need([self.source])


def root(v: Val, i: int) -> tuple[Val, int]:
    """What lane i of a vector is a lane of, and which one; 0 of a scalar."""
    if isinstance(v, Shuffled):
        return root(v.source, v.lanes[i])
    if isinstance(v, Parts):
        return root(v.parts[i // max(1, v.per)], i % max(1, v.per))
    return v, i


def shuffle_text(a: Val, other: str, lanes: Sequence[int]) -> str:
    """Lanes chosen from two vectors of one type."""
    mask = f"<{', '.join([f'i32 {i}' for i in lanes])}>" if any(lanes) else "zeroinitializer"
    return f"shufflevector {a}, {a.type} {other}, <{len(lanes)} x i32> {mask}"


def chosen_parts(lanes: Sequence[int], per: int) -> Sequence[int] | None:
    """Which parts of `per` lanes (0: scalars) some lanes are in a row, None where they cut parts."""
    if not per:
        return lanes
    count = len(lanes) // per
    starts = lanes[::per]
    whole = all(s % per == 0 and list(lanes[i * per : i * per + per]) == list(range(s, s + per))
                for i, s in enumerate(starts))
    return [s // per for s in starts] if whole and count * per == len(lanes) and not count & (count - 1) else None


class Definition:
    """The place in the text where a vector that is known otherwise would be defined."""

    __slots__ = ("value",)

    def __init__(self, value: Parts | Shuffled | Recast) -> None:
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
        name = self.value.name if isinstance(self.value, Tracked) else self.value.text
        arrivals = ", ".join(f"[ {v.text}, %{label} ]" for v, label in self.incoming)
        return f"  {name} = phi {self.value.type} {arrivals}"


class PhiVector(Parts):
    """The vector of a wide phi: whether it is made of its lanes shows at the end only."""

    __slots__ = ()
    parts: Sequence[Tracked]

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
        self.by_lane = all(_by_lane(v) for v, _ in self.incoming)
        if not self.by_lane:
            super().settle()
            return
        for value, _ in self.incoming:
            if isinstance(value, Parts):
                need(value.parts)

    def __str__(self) -> str:
        if not self.by_lane:
            return super().__str__()
        wanted = [i for i, lane in enumerate(self.value.parts) if self.value.used or lane.used]
        arrivals = [_lanes(value, label, wanted) for value, label in self.incoming]
        lanes = (self.value.parts[i] for i in wanted)
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
                         for i, lane in enumerate(value.parts) if lane.used)


def _lanes(value: Val, label: str, wanted: Sequence[int]) -> list[str]:
    """How some lanes of a vector arrive from a block."""
    if isinstance(value, Parts):
        return [f"[ {value.parts[i].text}, %{label} ]" for i in wanted]
    assert value.const is not None
    return [f"[ {const_text(value.elem, value.const)}, %{label} ]"] * len(wanted)


def _by_lane(value: Val) -> bool:
    """Whether all lanes are known as scalars."""
    return value.const is not None or (isinstance(value, Parts) and not value.per)
