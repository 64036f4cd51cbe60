"""The table of emitters, and what they write with: LLVM IR for one element of an element-wise op.

Values are held as the closures hold them (interp/formats.py): narrow floats as a `float` that they represent exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tilewright.interp import codes
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.rules import RuleTable

Name = str

# emitter(op, emitter's tools, names of the operands) -> name of the result, or None where this op stays a closure.
Emit = Callable[[Any, "Emitter", list[Name]], Name | None]
EMITTERS: RuleTable[Emit] = RuleTable("emitter for loops on the CPU")

NEAREST = (RoundingMode.RN, RoundingMode.FULL, RoundingMode.APPROX)
HALVES = (dt.float16, dt.bfloat16)


def holds(dtype: DType) -> bool:
    """Can a loop hold values of this dtype? Codes of 8- and 4-bit floats stay with tables."""
    return dtype not in codes.FORMATS


def register(dtype: DType) -> str:
    """LLVM's type of a value."""
    if dtype.is_float:
        return "double" if dtype is dt.float64 else "float"
    return f"i{1 if dtype.is_bool else dtype.bitwidth}"


def memory(dtype: DType) -> str:
    """LLVM's type of an element of a held array."""
    return "i8" if dtype.is_bool else register(dtype)


def double(value: float) -> str:
    """A constant of LLVM's type double, or of float, whose constants are written as doubles."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Emitter:
    """Lines of one loop's body. `doubt` is true for an element whose last bit only the closures know."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.doubt = "false"
        self.declared: dict[str, str] = {}
        self.values: dict[Value, Name] = {}
        self.tables: list[Any] = []  # what the code points to must live as long as it
        self._count = 0

    def __call__(self, text: str) -> Name:
        """A new name for an instruction."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def do(self, what: str, *args: Name) -> Name:
        """An instruction and its operands: `do("fadd double", a, b)`."""
        return self(f"{what} {', '.join(args)}")

    def call(self, function: str, type_: str, *args: Name, arg_type: str = "") -> Name:
        """A call of an intrinsic whose arguments have one type."""
        arg_type = arg_type or type_
        self.declared[function] = f"declare {type_} @{function}({', '.join([arg_type] * len(args))})"
        return self(f"call {type_} @{function}({', '.join(f'{arg_type} {a}' for a in args)})")

    def select(self, cond: Name, type_: str, yes: Name, no: Name) -> Name:
        return self(f"select i1 {cond}, {type_} {yes}, {type_} {no}")

    def bits(self, x: Name, type_: str) -> Name:
        """The bits of a float, or the float of bits: `type_` is that of the float for the former, of bits else."""
        other = {"float": "i32", "double": "i64", "i32": "float", "i64": "double"}[type_]
        return self(f"bitcast {type_} {x} to {other}")

    def doubtful(self, cond: Name) -> None:
        self.doubt = cond if self.doubt == "false" else self(f"or i1 {self.doubt}, {cond}")

    def nan(self, x: Name, type_: str) -> Name:
        return self(f"fcmp uno {type_} {x}, {x}")

    # --- rounding ---

    def rounded(self, x: Name, dtype: DType) -> Name:
        """A float rounded to a dtype as `Format.round` does."""
        if dtype is dt.float16:
            half = self(f"fptrunc float {x} to half")
            out = self(f"fpext half {half} to float")
            return self.select(self.nan(x, "float"), "float", x, out)
        if dtype in (dt.bfloat16, dt.tfloat32):
            shift = 16 if dtype is dt.bfloat16 else 13
            bits = self.bits(x, "float")
            last = self(f"and i32 {self(f'lshr i32 {bits}, {shift}')}, 1")
            up = self(f"add i32 {self(f'add i32 {bits}, {(1 << (shift - 1)) - 1}')}, {last}")
            out = self.bits(self(f"and i32 {up}, {-(1 << shift)}"), "i32")
            quiet = x
            if dtype is dt.bfloat16:  # ml_dtypes keeps of a NaN its sign alone
                sign = self(f"and i32 {bits}, {-(1 << 31)}")
                quiet = self.bits(self(f"or i32 {sign}, {0x7FC00000}"), "i32")
            return self.select(self.nan(x, "float"), "float", quiet, out)
        return x

    def odd(self, x: Name) -> Name:
        """double to float, rounded to odd (rounding.odd_float32)."""
        y = self(f"fptrunc double {x} to float")
        back = self(f"fpext float {y} to double")
        bits = self.bits(y, "float")
        even = self(f"icmp eq i32 {self(f'and i32 {bits}, 1')}, 0")
        finite = self(f"fcmp one double {self.call('llvm.fabs.f64', 'double', x)}, {double(float('inf'))}")
        fix = self(f"and i1 {self(f'and i1 {even}, {finite}')}, {self(f'fcmp one double {back}, {x}')}")
        near, far = (self.call("llvm.fabs.f64", "double", v) for v in (back, x))
        step = self.select(self(f"fcmp olt double {near}, {far}"), "i32", "1", "-1")
        moved = self(f"add i32 {bits}, {step}")
        return self.bits(self.select(fix, "i32", moved, bits), "i32")

    def nearest(self, x: Name, dtype: DType) -> Name:
        """double to a dtype, rounded once (rounding.nearest)."""
        if dtype is dt.float64:
            return x
        if dtype is dt.float32:
            return self(f"fptrunc double {x} to float")
        return self.rounded(self.odd(x), dtype)

    def wide(self, x: Name) -> Name:
        return self(f"fpext float {x} to double")


def emit(op: Op, e: Emitter) -> Name | None:
    """Write one op, whose operands have names in `e.values`; None where it has to stay a closure."""
    rule = EMITTERS.of(op)
    assert rule is not None
    name = rule(op, e, [e.values[v] for v in op.operands])
    if name is not None:
        e.values[op.results[0]] = name
    return name


def can_emit(op: Op) -> bool:
    """Does an op with these attributes and dtypes have code?"""
    return _tried(op) is not None


def may_doubt(op: Op) -> bool:
    """May its code not know the last bit of an element?"""
    e = None if EMITTERS.of(op) is None else _tried(op)
    return e is not None and e.doubt != "false"


def _tried(op: Op) -> Emitter | None:
    e = Emitter()
    e.values = dict.fromkeys(op.operands, "%x")
    return None if emit(op, e) is None else e
