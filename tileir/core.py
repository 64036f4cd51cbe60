"""Values, operations, blocks, functions, and how an operation is declared."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, dataclass_transform

from tilewright.tileir.diagnostics import NO_SPAN, Span, TileTypeError
from tilewright.tileir.engines import GLOBAL, REGISTERS, SHARED, Engine, Fence, Space
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layout import Layout
from tilewright.tileir.plan import NO_ALIASES, Aliases, Decision, Hints, Limits, MachinePlan, Switches
from tilewright.tileir.types import ArrayType, ListType, SharedType, Type


class Value:
    """The result of an op or a parameter of a block. `hint` is the name it prints under, where free."""

    __slots__ = ("type", "hint", "owner")
    type: Any  # a Type; Any, so that rules may read fields after their own check
    hint: str
    owner: Op | Block | None

    def __init__(self, type: Type, hint: str = "", owner: Op | Block | None = None) -> None:
        self.type = type
        self.hint = hint
        self.owner = owner

    @property
    def op(self) -> Op | None:
        """The op that defines this value, None for a block parameter."""
        return self.owner if isinstance(self.owner, Op) else None

    def retype(self, type: Type) -> Value:
        """Give the value a type that tells more of the same tile, as a layout does: dtype and shape must be those that
        the op's type rule has inferred. Gives the value itself."""
        if type.erased() != self.type.erased():
            raise TileTypeError(f"{self.type} cannot become {type}: only the layout of a value may change")
        self.type = type
        return self

    def lay_out(self, layout: Layout | None) -> Value:
        """Say how threads hold the tile. Gives the value itself."""
        self.type = self.type.with_layout(layout)
        return self

    def reshape(self, shape: tuple[int, ...]) -> None:
        """Make the value a tile of another shape, without a layout. The caller changes every op that makes or reads it
        to match: this is how a whole function is cut into parts."""
        self.type = self.type.with_shape(shape)

    def become(self, type: Type) -> None:
        """Make the value one of another type. The caller changes every op that makes or reads it to match: this is how
        a whole function is rewritten for arrays of another rank."""
        self.type = type

    def __repr__(self) -> str:
        return f"<Value %{self.hint or '?'}: {self.type}>"


class Block:
    """A list of ops with parameters; the last op is a terminator."""

    __slots__ = ("params", "ops")

    def __init__(self, params: list[Value] | None = None, ops: list[Op] | None = None) -> None:
        self.params: list[Value] = params if params is not None else []
        self.ops: list[Op] = ops if ops is not None else []
        for value in self.params:
            value.owner = self

    def add_param(self, type: Type, hint: str = "") -> Value:
        value = Value(type, hint, self)
        self.params.append(value)
        return value

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """Every op of this block and of the blocks inside, each op before its bodies: those that are there now."""
        found: list[Op] = []
        self._gather(found)
        return iter(found)

    def _gather(self, found: list[Op]) -> None:
        ops, start = self.ops, 0
        for place in [i for i, op in enumerate(ops) if op._body_fields]:
            found += ops[start:place + 1]
            for name in ops[place]._body_fields:
                getattr(ops[place], name)._gather(found)
            start = place + 1
        found += ops[start:]


_NO_HINTS = Hints()


class Function:
    """A kernel: its parameters are those of `body`. The records of plan.py say which of them share memory (`aliases`),
    what was asked for (`hints`, `switches`, `limits`) and what a backend's passes have decided (`plan`, and `decisions`
    for people to read)."""

    __slots__ = ("name", "body", "hints", "span", "aliases", "switches", "limits", "plan", "decisions")

    # The text form, for str(): `printer.py` puts it here, as it imports this module.
    text_form: ClassVar[Callable[[Function], str]]

    def __init__(self, name: str, body: Block, hints: Hints = _NO_HINTS, span: Span = NO_SPAN) -> None:
        self.name = name
        self.body = body
        self.hints = hints
        self.span = span
        self.aliases: Aliases = NO_ALIASES
        self.switches = Switches()
        self.limits = Limits()
        self.plan = MachinePlan()
        self.decisions: list[Decision] = []

    @property
    def params(self) -> list[Value]:
        return self.body.params

    def walk(self) -> Iterator[Op]:
        return self.body.walk()

    def __str__(self) -> str:
        return type(self).text_form(self)


_MISSING: Any = object()


class Field(NamedTuple):
    """One declared field of an op."""

    kind: str  # "operand", "optional" (operand or None), "operands" (a tuple), "attribute", "body"
    default: Any = _MISSING
    enum: type[enum.Enum] | None = None
    name: str = ""

    @property
    def required(self) -> bool:
        return self.default is _MISSING


def operand() -> Any:
    """A single value."""
    return Field("operand")


def optional_operand() -> Any:
    """A single value or None; absent unless given."""
    return Field("optional", None)


def operands() -> Any:
    """A tuple of any number of values."""
    return Field("operands")


def attribute(*, default: Any = _MISSING, enum: type[enum.Enum] | None = None) -> Any:
    """A compile-time fact: bool, int, float, str, None, DType, Type, or a tuple of those; or a member of `enum`."""
    return Field("attribute", default, enum)


def body() -> Any:
    """A nested block."""
    return Field("body")


class Start(NamedTuple):
    """An access that an op starts and that outlives it: `engine` reads or writes `memory` until a wait covers it.

    `exclusive`: whoever emitted the op has seen to it that nothing else touches these bytes meanwhile, or that
    mbarriers hand them over.
    """

    engine: Engine
    memory: Value
    space: Space
    writes: bool
    exclusive: bool = False


class Completion(NamedTuple):
    """A wait for what an engine has started: at most the newest `pending` groups stay outstanding. `memory` is the one
    handle that is free afterwards, where the wait is for it alone."""

    engine: Engine
    pending: int = 0
    memory: Value | None = None


class Effects(NamedTuple):
    """What an op does beside computing its results.

    `reads` and `writes` are the memory handles (array, list or shared values) it accesses. `ordered` is True for an
    access with a memory order, which no other memory access may cross. `io` is True for output and assertions.

    Asynchrony: `starts` are the accesses that outlive the op (also of memory that is no handle, such as accumulators),
    `completes` what it waits for, `fence` which accesses it orders and for whom. `role` says who executes it where a
    kernel has roles; "": whoever executes what no op assigns.
    """

    reads: tuple[Value, ...] = ()
    writes: tuple[Value, ...] = ()
    ordered: bool = False
    io: bool = False
    starts: tuple[Start, ...] = ()
    completes: tuple[Completion, ...] = ()
    fence: Fence | None = None
    role: str = ""

    @property
    def none(self) -> bool:
        return not (self.reads or self.writes or self.ordered or self.io or self.starts)

    @property
    def kept(self) -> bool:
        """Whether the op must stay although nobody needs its results."""
        return bool(self.writes or self.ordered or self.io)


def space_of(memory: Value) -> Space:
    """The memory space that a value names or lives in."""
    if isinstance(memory.type, SharedType):
        return SHARED
    return GLOBAL if isinstance(memory.type, (ArrayType, ListType)) else REGISTERS


_NO_EFFECTS = Effects()
TRAITS = {
    "terminator": "the last op of a body",
    "elementwise": "same shape in and out, each element on its own",
    "commutative": "its two operands may change places",
    "collective": "all threads of a CTA execute it together",
    "speculatable": "it may be done for an iteration that never comes: it does nothing but compute, and ends soon",
    "cheap": "about one instruction a register: it is repeated in each layout that its users want",
    "rematerializable": "made of nothing but immediates and the thread's number: each user makes its own",
    "same_elements": "each element of the result is the one of `src` at the same index",
    "view": "the elements of `src` under other indices, in the same registers",
    "rearranges": "every element of `src` once, under another index",
    "reduces": "it combines elements along axes",
    "repeats": "its bodies run any number of times",
}
"""What passes may ask of an op's class, in place of which class it is; declared as class keywords."""

OPS: dict[str, type[Op]] = {}
"""Every declared op by opcode. Importing `tilewright.tileir.ops` fills it with the Tile IR ops."""


def _reader(fields: Mapping[str, Field], names: Sequence[tuple[str, bool]]) -> Callable[[Op], list[Value]]:
    """What gives the operands of an op with these fields: passes ask for those of every op again and again, and most
    classes have but single ones, or one tuple."""
    if not names:
        return lambda op: []
    read: Any = attrgetter(*(name for name, _ in names))
    kinds = [fields[name].kind for name, _ in names]
    if kinds == ["operand"]:
        return lambda op: [read(op)]
    if kinds == ["operands"] or set(kinds) == {"operand"}:
        return lambda op: list(read(op))

    def operands(op: Op) -> list[Value]:
        out: list[Value] = []
        for name, many in names:
            value = getattr(op, name)
            if many:
                out += value
            elif value is not None:
                out.append(value)
        return out

    return operands


@dataclass_transform(
    field_specifiers=(operand, optional_operand, operands, attribute, body), eq_default=False, kw_only_default=True
)
class Op:
    """An operation. A subclass declares its fields, its type rule (`infer`) and nothing else.

    Class keywords: `opcode` (none for an abstract base), `reads` and `writes` (space-separated names of the operands
    whose memory is accessed), `io`, and the traits of TRAITS, each True or False. Of asynchronous ops: `engine` makes
    these accesses (that of operands named in `exclusive` alone, see `Start`), `waits_for` is the engine that a wait
    covers (its fields `pending` and `buffer` say how much of it), `fence` what a fence orders, `role` who executes it
    (a field of that name decides for each op).
    Builder, parser, printer, verifier, clone, hash and dead-code removal read these; none names an op.
    """

    opcode: ClassVar[str] = ""
    fields: ClassVar[dict[str, Field]] = {}
    terminator: ClassVar[bool] = False
    elementwise: ClassVar[bool] = False
    commutative: ClassVar[bool] = False
    collective: ClassVar[bool] = False
    speculatable: ClassVar[bool] = False
    cheap: ClassVar[bool] = False
    rematerializable: ClassVar[bool] = False
    same_elements: ClassVar[bool] = False
    view: ClassVar[bool] = False
    rearranges: ClassVar[bool] = False
    reduces: ClassVar[bool] = False
    repeats: ClassVar[bool] = False
    # Whether ops of the class may do anything beside computing results. Most classes do not: a pass that looks for
    # effects in every op asks this first.
    effectful: ClassVar[bool] = False
    # The same of single effects: whether an op may write memory, start an engine, wait for one.
    writing: ClassVar[bool] = False
    starting: ClassVar[bool] = False
    awaiting: ClassVar[bool] = False
    _own_effects: ClassVar[bool] = False  # whether `effects` is not the one below
    _operand_fields: ClassVar[tuple[tuple[str, bool], ...]] = ()  # name, and whether it holds a tuple
    _body_fields: ClassVar[tuple[str, ...]] = ()
    _given: ClassVar[tuple[tuple[str, Any, bool], ...]] = ()  # name and default of each field, whether it holds a tuple
    _reads: ClassVar[tuple[str, ...]] = ()
    _writes: ClassVar[tuple[str, ...]] = ()
    _io: ClassVar[bool] = False
    _exclusive: ClassVar[tuple[str, ...]] = ()
    _touched: ClassVar[tuple[tuple[str, bool, bool], ...]] = ()  # name of an operand, if it is written, if exclusive
    _engine: ClassVar[Engine | None] = None
    _waits_for: ClassVar[Engine | None] = None
    _fence: ClassVar[Fence | None] = None
    _role: ClassVar[str] = ""

    def __init_subclass__(
        cls, *, opcode: str = "", reads: str = "", writes: str = "", io: bool | None = None,
        engine: Engine | None = None, exclusive: str = "", waits_for: Engine | None = None, fence: Fence | None = None,
        role: str | None = None, **traits: bool,
    ) -> None:
        own = {name: f._replace(name=name) for name, f in vars(cls).items() if isinstance(f, Field)}
        for name in own:
            delattr(cls, name)
        cls.fields = {**cls.fields, **own}
        # Passes ask for operands and bodies of every op again and again: keep the names at hand.
        cls._operand_fields = tuple(
            (n, f.kind == "operands") for n, f in cls.fields.items() if f.kind not in ("attribute", "body")
        )
        setattr(cls, "operands", property(_reader(cls.fields, cls._operand_fields)))  # noqa: B010
        cls._given = tuple((n, f.default, f.kind == "operands") for n, f in cls.fields.items())
        cls._body_fields = tuple(n for n, f in cls.fields.items() if f.kind == "body")
        if reads:
            cls._reads = tuple(reads.split())
        if writes:
            cls._writes = tuple(writes.split())
        if exclusive:
            cls._exclusive = tuple(exclusive.split())
        for name, value in (("_io", io), ("_engine", engine), ("_waits_for", waits_for), ("_fence", fence),
                            ("_role", role)):
            if value is not None:
                setattr(cls, name, value)
        names = dict.fromkeys((*cls._reads, *cls._writes, *cls._exclusive))
        cls._touched = tuple((n, n not in cls._reads, n in cls._exclusive) for n in names)
        own_effects = cls._own_effects = cls.effects is not Op.effects
        cls.writing, cls.starting = own_effects or bool(cls._writes), own_effects or cls._engine is not None
        cls.awaiting = own_effects or cls._waits_for is not None
        cls.effectful = own_effects or any(
            (cls._reads, cls._writes, cls._io, cls._engine, cls._waits_for, cls._fence))
        for name, holds in traits.items():
            if name not in TRAITS:
                raise TypeError(f"{cls.__name__}: {name} is no trait of ops; there are {', '.join(TRAITS)}")
            setattr(cls, name, holds)
        cls.opcode = opcode
        if opcode:
            assert opcode not in OPS, f"two ops are called {opcode}"
            OPS[opcode] = cls

    def __init__(self, *, span: Span = NO_SPAN, **given: Any) -> None:
        self.span = span
        for name, default, many in self._given:
            value = given.pop(name, default)
            if value is _MISSING:
                raise TypeError(f"{self.opcode}: field {name} is missing")
            setattr(self, name, tuple(value) if many else value)
        if given:
            raise TypeError(f"{self.opcode} has no field {', '.join(given)}")
        self.results: tuple[Value, ...] = tuple([Value(t, "", self) for t in self.infer()])

    def infer(self) -> tuple[Type, ...]:
        """The result types, or a TileTypeError when the operands do not fit. None for an op that has a `check`."""
        self.check()
        return ()

    def check(self) -> None:
        """Of an op without results: TileTypeError when the operands do not fit."""
        raise NotImplementedError(self.opcode)

    def effects(self) -> Effects:
        """What the op does beside computing results, its bodies not counted."""
        if not self.effectful:
            return _NO_EFFECTS
        order = getattr(self, "memory_order", MemoryOrder.WEAK)
        return Effects(
            tuple([getattr(self, n) for n in self._reads]), tuple([getattr(self, n) for n in self._writes]),
            order is not MemoryOrder.WEAK, self._io,
            self._starts() if self._engine is not None else (),
            self._completes() if self._waits_for is not None else (), self._fence,
            getattr(self, "role", self._role),
        )

    @property
    def acts(self) -> bool:
        """Whether the op must stay although nobody needs its results: `kept` of its effects, which passes ask of every
        op again and again."""
        if not self.effectful or self._own_effects:
            return self.effectful and self.effects().kept
        return bool(self._writes) or self._io or getattr(self, "memory_order", MemoryOrder.WEAK) is not MemoryOrder.WEAK

    def _starts(self) -> tuple[Start, ...]:
        engine = self._engine
        if engine is None:
            return ()
        out: list[Start] = []
        for name, writes, exclusive in self._touched:
            value = getattr(self, name)
            for memory in value if isinstance(value, tuple) else (value,):
                out.append(Start(engine, memory, space_of(memory), writes, exclusive))
        return tuple(out)

    def _completes(self) -> tuple[Completion, ...]:
        if self._waits_for is None:
            return ()
        return (Completion(self._waits_for, getattr(self, "pending", 0), getattr(self, "buffer", None)),)

    @property
    def operands(self) -> list[Value]:
        """Every value the op itself reads, in field order. Each class has its own way to give them (`_reader`)."""
        raise NotImplementedError

    def replace_operands(self, new: Mapping[Value, Value]) -> None:
        """Substitute operands of this op (not of its bodies)."""
        for name, many in self._operand_fields:
            value = getattr(self, name)
            if many:
                if any(v in new for v in value):
                    setattr(self, name, tuple(new.get(v, v) for v in value))
            elif value in new:
                setattr(self, name, new[value])

    def map_operands(self, new: Callable[[Value], Value]) -> None:
        """Substitute each operand of this op by what `new` makes of it, asked for each place on its own."""
        for name, many in self._operand_fields:
            value = getattr(self, name)
            if many:
                setattr(self, name, tuple([new(v) for v in value]))
            elif value is not None:
                setattr(self, name, new(value))

    @property
    def attributes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name, f in self.fields.items() if f.kind == "attribute"}

    @property
    def blocks(self) -> Sequence[Block]:
        return [getattr(self, name) for name in self._body_fields] if self._body_fields else ()

    def inside(self) -> Iterator[Op]:
        """Every op of its bodies, each before its own bodies."""
        for name in self._body_fields:
            yield from getattr(self, name).walk()

    @property
    def result(self) -> Value:
        [value] = self.results
        return value

    def clone(self, mapping: dict[Value, Value]) -> Op:
        """A copy with operands looked up in `mapping` (unmapped ones stay); `mapping` gains results and params."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        for name, many in self._operand_fields:
            value = getattr(self, name)
            new = tuple([mapping.get(v, v) for v in value]) if many else mapping.get(value, value)
            setattr(copy, name, new)
        for name in self._body_fields:
            setattr(copy, name, clone_block(getattr(self, name), mapping))
        # The types are known: the rule need not be asked again.
        copy.results = tuple([Value(old.type, old.hint, copy) for old in self.results])
        for old, value in zip(self.results, copy.results, strict=True):
            mapping[old] = value
        return copy

    def __repr__(self) -> str:
        return f"<{self.opcode} at {self.span}>"


def clone_block(block: Block, mapping: dict[Value, Value]) -> Block:
    copy = Block([Value(p.type, p.hint) for p in block.params])
    mapping.update(zip(block.params, copy.params, strict=True))
    copy.ops = [op.clone(mapping) for op in block.ops]
    return copy


def clone_function(function: Function, mapping: dict[Value, Value] | None = None) -> Function:
    """A deep copy that shares nothing mutable with the original. `mapping` gains what becomes of each value."""
    body = clone_block(function.body, {} if mapping is None else mapping)
    copy = Function(function.name, body, function.hints, function.span)
    copy.aliases, copy.switches, copy.limits = function.aliases, function.switches, function.limits
    copy.plan, copy.decisions = replace(function.plan), list(function.decisions)
    return copy


def require(condition: bool, message: str) -> None:
    """A type rule's check: raise TileTypeError unless it holds."""
    if not condition:
        raise TileTypeError(message)
