"""Integer arithmetic on fragments: narrow types computed in i32, division toward minus or plus infinity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.tileir.analysis.ranges import IntFact, least
from tilewright.tileir.dtypes import DType

Known = Sequence[IntFact]  # of both operands


def resized(b: Builder, v: Val, signed: bool, elem: str) -> Val:
    """An integer of any width in the integer type `elem`."""
    word = "trunc" if int(v.elem[1:]) > int(elem[1:]) else "sext" if signed else "zext"
    return b.cast(word, v, elem)


def clamped(b: Builder, v: Val, low: int, high: int, signed: bool = True) -> Val:
    """The nearest number in low..high; of an unsigned one `low` is 0."""
    if not signed:
        return b.intrinsic("llvm.umin", [v, b.like(v, high)])
    return b.intrinsic("llvm.smin", [b.intrinsic("llvm.smax", [v, b.like(v, low)]), b.like(v, high)])


def widened(b: Builder, v: Val, dtype: DType) -> Val:
    """The value in the type in which this dtype is computed: exact, by the signedness of the dtype. NVPTX packs
    <N x i8> four to a register and takes it apart again for every operation, so i8 is computed in i32, as is i16."""
    return v if dtype.is_bool else resized(b, v, dtype.is_signed, "i64" if dtype.bitwidth == 64 else "i32")


def narrowed(b: Builder, v: Val, dtype: DType) -> Val:
    """Back to the dtype's own width: the low bits."""
    return b.cast("trunc", v, f"i{dtype.bitwidth}")


def compute(b: Builder, dtype: DType, function: Callable[..., Val], *operands: Val) -> Val:
    """Apply a function of the computing type to operands of the dtype, and return to the dtype."""
    return narrowed(b, function(*(widened(b, v, dtype) for v in operands)), dtype)


def quotient(b: Builder, dtype: DType, up: bool, known: Known, x: Val, y: Val) -> Val:
    """Quotient toward plus (`up`) or minus infinity."""
    if not up and not dtype.is_signed and y.const is None and x.type == "i32":
        return instruction("div.u32").emit1(b, x, _nonzero(b, y, known[1]))
    nearer, remainder = divided(b, dtype, known, x, y)
    return b.add(nearer, b.cast("zext", b.icmp("ne", remainder, 0), x.elem)) if up else nearer


def divided(b: Builder, dtype: DType, known: Known, x: Val, y: Val) -> tuple[Val, Val]:
    """Quotient toward minus infinity, and the remainder, which has the sign of the divisor. Numbers that are `known`
    not to be negative are divided as unsigned ones, which takes half the instructions and corrects nothing."""
    y, signed = _nonzero(b, y, known[1]), _signed(dtype, known)
    power = int(y.const or 0)
    if power > 0 and not power & (power - 1):
        return b.binary("ashr" if signed else "lshr", x, power.bit_length() - 1), b.and_(x, power - 1)
    nearer = b.binary("sdiv" if signed else "udiv", x, y)
    rest = b.sub(x, b.mul(nearer, y))
    if not signed:
        return nearer, rest
    wrong = b.and_(b.icmp("ne", rest, 0), b.icmp("slt", b.xor(rest, y), 0))
    return b.add(nearer, b.cast("sext", wrong, x.elem)), b.add(rest, b.select(wrong, y, b.like(y, 0)))


def _signed(dtype: DType, known: Known) -> bool:
    """Whether one of two numbers may be negative."""
    return dtype.is_signed and min(fact.low for fact in known) < 0


def _nonzero(b: Builder, y: Val, known: IntFact) -> Val:
    """The divisor, for 0 a number that divides the others: a quotient by 0 has no meaning, but lies among those that
    facts allow. A division by zero would be undefined behaviour in LLVM, which then takes for certain that paddings and
    choices of 0 do not happen, and drops their masks."""
    if y.const is not None:
        return y if y.const else b.like(y, 1)
    return y if known.low > 0 else b.intrinsic("llvm.umax", [y, b.like(y, least(known))])


def raised(b: Builder, x: Val, exponent: Val, bits: int, product: Callable[[Val, Val], Val]) -> Val:
    """x to the power of an exponent's lowest bits, from the lowest up."""
    result, square = b.like(x, 1), x
    for bit in range(bits):
        odd = b.icmp("ne", b.and_(exponent, 1 << bit), 0)
        result = b.select(odd, product(result, square), result)
        if bit + 1 < bits:
            square = product(square, square)
    return result


def power(b: Builder, dtype: DType, x: Val, y: Val, signed_exponent: bool) -> Val:
    """x ** y by squaring, unrolled over the bits of the exponent; a negative exponent gives 0 unless |x| is 1."""
    # After as many squarings as the dtype has bits, an even base is 0 and an odd one 1.
    result = raised(b, x, y, int(y.elem[1:]) - signed_exponent, b.mul)
    if not signed_exponent:
        return result
    one = b.like(x, 1)
    inverse = b.select(b.icmp("eq", x, 1), one, b.like(x, 0))
    if dtype.is_signed:
        odd = b.icmp("ne", b.and_(y, 1), 0)
        flipped = b.select(odd, b.like(x, -1), one)
        inverse = b.select(b.icmp("eq", x, -1), flipped, inverse)
    return b.select(b.icmp("slt", y, 0), inverse, result)
