"""The text of a function body as it grows: names of new values, constants, calls and inline PTX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tilewright.backend_ptx.llvm.constants import FLOATS, const_text, int_constant, type_text
from tilewright.backend_ptx.llvm.values import Number, Operand, Val

Kind = tuple[str, int]  # the element type of a value, and its lanes (0: a scalar)

# Characters of a struct type from which on it gets a name.
LONG_TYPE = 80


class Emitter:
    """The body of one function. `declares` collects the declarations, `globals` and `types` those of the module.
    Lanes of the types `lone` are computed one by one wherever they are known so."""

    def __init__(self, lone: frozenset[str]) -> None:
        self.lone = lone
        self.lines: list[object] = []  # str, or what becomes a str at the end
        self._prologue: list[object] = []
        self.declares: dict[str, str] = {}
        self.globals: list[str] = []
        self.types: dict[str, str] = {}  # names of long struct types
        self.block = "entry"
        self.dbg = ""  # appended to every instruction: ", !dbg !7" or nothing
        self._places: dict[str, str] = {}  # the `dbg` of each value that was made under one
        self._next = 0
        self._labels = 0
        self._computed: dict[str, Val] = {}  # what this block has computed, by its text
        self._always: dict[str, Val] = {}  # and what the prologue has
        self.convergent = False  # whether some asm is
        self._base_uses: dict[str, int] = {}  # addresses by the base that they are counted from
        self._bases: dict[tuple[str, str, int], Val] = {}  # copies of a base, each in the block that it stands in

    # ---- values ------------------------------------------------------------------------------------------

    def const(self, elem: str, value: Number, n: int = 0) -> Val:
        """The constant `value` (rounded or wrapped to the type), in every lane when n > 0."""
        if elem not in FLOATS:
            return _int_value(elem, int(value), n)
        text = const_text(elem, value)
        return Val(elem, n, f"splat ({elem} {text})" if n else text, value)

    def const_vector(self, elem: str, values: Sequence[Number]) -> Val:
        """A vector constant, a value per lane."""
        return Val(elem, len(values), "<" + ", ".join(f"{elem} {const_text(elem, v)}" for v in values) + ">")

    def like(self, pattern: Val, value: Number) -> Val:
        """The constant `value` with the type of `pattern`."""
        return self.const(pattern.elem, value, pattern.n)

    def emit(self, elem: str, n: int, text: str, dbg: str = "") -> Val:
        """Append `%new = text`, of type elem or <n x elem>; `dbg` in place of the current one."""
        self._next = number = self._next + 1
        name = f"%v{number}"
        if dbg or self.dbg:
            self._places[name] = dbg = dbg or self.dbg
        self.lines.append(f"  {name} = {text}{dbg}")
        return Val(elem, n, name)

    def computed(self, elem: str, n: int, text: str) -> Val:
        """`emit` of what depends on its operands alone: once in a block. LLVM finds what is computed twice, too, but
        late, and its search for cheaper addresses takes long where there is much of it."""
        known = self._computed.get(text) or self._always.get(text)
        if known is None:
            known = self._computed[text] = self.emit(elem, n, text)
        return known

    def raw(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.dbg}")

    def _pair(self, a: Operand, b: Operand) -> tuple[Val, Val]:
        if not isinstance(a, Val):
            assert isinstance(b, Val)
            a = self.like(b, a)
        if not isinstance(b, Val):
            b = self.like(a, b)
        assert a.type == b.type, f"operands differ: {a} and {b}"
        return a, b

    # ---- calls -------------------------------------------------------------------------------------------

    def call(self, name: str, elem: str, args: Sequence[Val], n: int = 0) -> Val:
        """Call the function or (non-overloaded) intrinsic `name`, which returns a value."""
        return self.emit(elem, n, self.called(name, type_text(elem, n), args))

    def called(self, name: str, result: str, args: Sequence[Val]) -> str:
        """The text of a call, for `raw` where it returns nothing."""
        if name not in self.declares:
            self.declares[name] = f"declare {result} @{name}({', '.join([a.type for a in args])})"
        return f"call {result} @{name}({_listed(args)})"

    def asm(self, text: str, constraints: str, args: Sequence[Val] = (), result: str = "void", *,
            convergent: bool = False, memory: bool = False, pure: bool = False) -> Val | None:
        """Inline PTX. `result` is an LLVM type ("float", "{ i32, i32 }"); `pure`: LLVM may merge and drop it.

        `convergent`: every thread of a warp or block must arrive together. `memory`: it may touch memory.
        """
        if memory:
            constraints += ",~{memory}" if constraints else "~{memory}"
        effect = "" if pure else "sideeffect "
        text = text.replace("\n", "\\0A").replace('"', "\\22")
        attribute = ""
        if convergent:
            self.convergent = True
            attribute = " #1"
        result = self._named(result)
        line = f'call {result} asm {effect}"{text}", "{constraints}"({_listed(args)}){attribute}'
        if result == "void":
            self.raw(line)
            return None
        return self.emit(result, 0, line)

    def _named(self, result: str) -> str:
        """A long struct type by a name: every `extractvalue` says the type once more."""
        if len(result) < LONG_TYPE:
            return result
        return self.types.setdefault(result, f"%pack{len(self.types)}")

    def members(self, aggregate: Val, kinds: Sequence[Kind]) -> tuple[Val, ...]:
        """The members of a struct value (what an asm with several results returns)."""
        start = f"extractvalue {aggregate}, "
        return self.emit_all(kinds, [f"{start}{i}" for i in range(len(kinds))])

    def emit_all(self, kinds: Sequence[Kind], texts: Sequence[str]) -> tuple[Val, ...]:
        """`emit` of values of these types, one after another."""
        first, dbg = self._next + 1, self.dbg
        self._next += len(kinds)
        names = [f"%v{first + i}" for i in range(len(kinds))]
        if dbg:
            self._places.update(dict.fromkeys(names, dbg))
        self.lines.append("\n".join([f"  {name} = {text}{dbg}" for name, text in zip(names, texts, strict=True)]))
        return tuple([Val(elem, n, name) for (elem, n), name in zip(kinds, names, strict=True)])


@lru_cache(maxsize=4096)
def _int_value(elem: str, number: int, n: int) -> Val:
    """Of small numbers there are few, and each stands in many places."""
    value, text = int_constant(elem, number)
    return Val(elem, n, f"splat ({elem} {text})" if n else text, value)


def _listed(args: Sequence[Val]) -> str:
    return ", ".join([f"{a.type} {a.text}" for a in args])
