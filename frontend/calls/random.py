"""Random numbers from counters: Philox4x32-10, and integers, uniform and normal numbers made of its words.

J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Key and counter are laid out as in cuRAND: the
key is the seed, the upper half of the counter the sequence, the lower half counts four words of it at a time.
"""

from __future__ import annotations

import math

from tilewright.frontend.calls.arith import binary, where
from tilewright.frontend.calls.math import unary
from tilewright.frontend.calls.options import bad, dtype_arg
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import broadcast, cast, common_shape, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, float32, float64, int32, uint32, uint64

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
STEPS = 10
Words = tuple[Value, ...]


def _integer(t: Translator, op: str, argument: str, value: Val) -> Value:
    """An integer operand as a uint64, in two's complement."""
    if not (is_tile(value) and value.type.dtype.is_int) and not (is_loose(value) and isinstance(value, int)):
        raise bad(op, argument, f"must be an integer or a tile of integers, got {named(value)}",
                  hints=["cast it: x.astype(ct.int32)"] if is_tile(value) else [])
    return typed(t, value, uint64)


def _halves(t: Translator, wide: Val) -> Words:
    """The lower and the upper 32 bits."""
    return cast(t, wide, uint32), cast(t, binary(t, "bitwise_rshift", wide, 32), uint32)


def _step(t: Translator, counter: Words, key: Words) -> Words:
    halves = [_halves(t, binary(t, "mul", cast(t, counter[2 * i], uint64), t.constant(MULTIPLIERS[i], uint64)))
              for i in range(2)]
    (low0, high0), (low1, high1) = halves
    first = binary(t, "bitwise_xor", binary(t, "bitwise_xor", high1, counter[1]), key[0])
    third = binary(t, "bitwise_xor", binary(t, "bitwise_xor", high0, counter[3]), key[1])
    return first, low1, third, low0


def _words(t: Translator, op: str, seed: Val, sequence: Val, counter: Val) -> Words:
    """The four words of a counter, of the common shape of all operands."""
    key = _halves(t, _integer(t, op, "seed", seed))
    state = (*_halves(t, _integer(t, op, "counter" if op == "random.philox" else "offset", counter)),
             *_halves(t, _integer(t, op, "sequence", sequence)))
    shape = common_shape(op, seed, sequence, counter)
    for _ in range(STEPS):
        state = _step(t, state, key)
        key = tuple(binary(t, "add", k, t.constant(w, uint32)) for k, w in zip(key, WEYL, strict=True))
    return tuple(broadcast(t, word, shape) for word in state)


@call_rule("random.philox")
def philox(t: Translator, seed: Val, sequence: Val, counter: Val = 0, /) -> Val:
    return _words(t, "random.philox", seed, sequence, counter)


def _place(t: Translator, op: str, offset: Val) -> tuple[Value, Value]:
    """Which of the four words of a counter an offset means, and the counter. It is taken of the first word's offset, so
    that a backend finds it to be one number for neighbours, wherever in a tile they are."""
    _integer(t, op, "offset", offset)
    place = binary(t, "bitwise_and", offset, 3)
    first = _integer(t, op, "offset", binary(t, "sub", offset, place))
    return cast(t, place, int32), binary(t, "bitwise_rshift", first, 2)


def _bits(t: Translator, op: str, seed: Val, sequence: Val, offset: Val) -> Value:
    """Word `offset` of a sequence."""
    constant = known(offset)
    if isinstance(constant, int) and is_loose(offset):
        return _words(t, op, seed, sequence, constant % (1 << 64) // 4)[constant % 4]
    place, counter = _place(t, op, offset)
    words = _words(t, op, seed, sequence, counter)
    low, high = (where(t, binary(t, "equal", binary(t, "bitwise_and", place, 1), 0), words[i], words[i + 1])
                 for i in (0, 2))
    return where(t, binary(t, "less", place, 2), low, high)  # type: ignore[no-any-return]


@call_rule("random.bits")
def bits(t: Translator, seed: Val, sequence: Val, offset: Val = 0, /) -> Val:
    return _bits(t, "random.bits", seed, sequence, offset)


def _pair(t: Translator, op: str, seed: Val, sequence: Val, offset: Val) -> Words:
    """Words 2 * offset and 2 * offset + 1 of a sequence."""
    constant = known(offset)
    if isinstance(constant, int) and is_loose(offset):
        first = constant % 2 * 2
        return _words(t, op, seed, sequence, constant % (1 << 64) // 2)[first: first + 2]
    position = _integer(t, op, "offset", offset)
    words = _words(t, op, seed, sequence, binary(t, "bitwise_rshift", position, 1))
    low = binary(t, "equal", binary(t, "bitwise_and", position, 1), 0)
    return tuple(where(t, low, words[i], words[i + 2]) for i in (0, 1))


def _double(t: Translator, low: Value, high: Value) -> Value:
    """The upper 53 of 64 bits, as a float64."""
    wide = binary(t, "bitwise_or", binary(t, "bitwise_lshift", cast(t, high, uint64), 32), cast(t, low, uint64))
    return cast(t, binary(t, "bitwise_rshift", wide, 11), float64)


def _dtype(op: str, value: Val) -> DType:
    dtype = dtype_arg(op, "dtype", value)
    if dtype not in (float32, float64):
        raise bad(op, "dtype", f"is {dtype}, expected float32 or float64", hints=["cast the result: x.astype(...)"])
    return dtype


def _unit(t: Translator, word: Value) -> Value:
    """24 bits as a float32 in [0, 1), exact."""
    fraction = cast(t, binary(t, "bitwise_rshift", word, 8), float32)
    return binary(t, "mul", fraction, 2.0**-24)  # type: ignore[no-any-return]


@call_rule("random.uniform")
def uniform(t: Translator, seed: Val, sequence: Val, offset: Val = 0, /, low: Val = 0.0, high: Val = 1.0, *,
            dtype: Val = float32) -> Val:
    if _dtype("random.uniform", dtype) is float64:
        unit = binary(t, "mul", _double(t, *_pair(t, "random.uniform", seed, sequence, offset)), 2.0**-53)
    else:
        unit = _unit(t, _bits(t, "random.uniform", seed, sequence, offset))
    if known(low) == 0 and known(high) == 1:
        return unit
    return binary(t, "add", binary(t, "mul", unit, binary(t, "sub", high, low)), low)


@call_rule("random.randint")
def randint(t: Translator, seed: Val, sequence: Val, offset: Val = 0, /, *, low: Val = 0, high: Val) -> Val:
    """The upper half of word * (high - low): a multiplication where a remainder would divide."""
    for name, value in (("low", low), ("high", high)):
        loose = is_loose(value) and isinstance(value, int) and -(1 << 31) <= value <= 1 << 31
        if not loose and not (is_tile(value) and value.type.dtype in (int32, uint32)):
            raise bad("random.randint", name, f"must be an int32 or uint32 tile, or a constant of 32 bits, "
                      f"got {named(value)}", hints=["cast it: x.astype(ct.int32)"] if is_tile(value) else [])
    word = _bits(t, "random.randint", seed, sequence, offset)
    start = cast(t, typed(t, low, uint64), uint32)
    span = binary(t, "sub", cast(t, typed(t, high, uint64), uint32), start)
    product = binary(t, "mul", cast(t, word, uint64), cast(t, span, uint64))
    number = cast(t, binary(t, "bitwise_rshift", product, 32), uint32)
    return cast(t, binary(t, "add", number, start), int32)


@call_rule("random.normal")
def normal(t: Translator, seed: Val, sequence: Val, offset: Val = 0, /, *, dtype: Val = float32) -> Val:
    """Box-Muller: two words make two numbers, the cosine and the sine; `offset` says which of them is meant."""
    if _dtype("random.normal", dtype) is float64:
        return _normal_double(t, seed, sequence, offset)
    constant = known(offset)
    if isinstance(constant, int) and is_loose(offset):
        words = _words(t, "random.normal", seed, sequence, constant % (1 << 64) // 4)
        first, second = words[constant % 4 // 2 * 2: constant % 4 // 2 * 2 + 2]
        return binary(t, "mul", _radius(t, first), unary(t, "sin" if constant % 2 else "cos", _angle(t, second)))
    place, counter = _place(t, "random.normal", offset)
    words = _words(t, "random.normal", seed, sequence, counter)
    first, second = (where(t, binary(t, "less", place, 2), words[i], words[i + 2]) for i in (0, 1))
    angle = _angle(t, second)
    odd = binary(t, "equal", binary(t, "bitwise_and", place, 1), 1)
    return binary(t, "mul", _radius(t, first), where(t, odd, unary(t, "sin", angle), unary(t, "cos", angle)))


def _normal_double(t: Translator, seed: Val, sequence: Val, offset: Val) -> Val:
    """The same from two words for the radius and two for the angle."""
    constant = known(offset)
    if not (isinstance(constant, int) and is_loose(offset)):
        offset, constant = _integer(t, "random.normal", "offset", offset), None
    counter = binary(t, "bitwise_rshift", offset, 1) if constant is None else constant % (1 << 64) // 2
    words = _words(t, "random.normal", seed, sequence, counter)
    unit = binary(t, "mul", binary(t, "add", _double(t, *words[:2]), 1.0), 2.0**-53)
    radius = unary(t, "sqrt", binary(t, "mul", unary(t, "log", unit), -2.0))
    angle = binary(t, "mul", _double(t, *words[2:]), 2.0**-53 * (2 * math.pi))
    if constant is not None:
        return binary(t, "mul", radius, unary(t, "sin" if constant % 2 else "cos", angle))
    odd = binary(t, "equal", binary(t, "bitwise_and", offset, 1), 1)
    return binary(t, "mul", radius, where(t, odd, unary(t, "sin", angle), unary(t, "cos", angle)))


def _radius(t: Translator, word: Value) -> Val:
    """sqrt(-2 * log(u)) with u in (0, 1]: never infinite."""
    unit = binary(t, "mul", binary(t, "add", cast(t, word, float32), 1.0), 2.0**-32)
    return unary(t, "sqrt", binary(t, "mul", unary(t, "log", unit), -2.0))


def _angle(t: Translator, word: Value) -> Val:
    return binary(t, "mul", _unit(t, word), 2 * math.pi)
