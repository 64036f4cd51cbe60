"""What each method of the builder writes, or folds: calls with the LLVM text of their results, as a golden table; and
constants against NumPy's."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.constants import float_bits, float_text, int_constant, suffix, type_text
from tilewright.backend_ptx.lower.access import constant_word, load, store

GOLDEN = Path(__file__).parent / "golden" / "builder.txt"
OPAQUE = {
    "x": ("i32", 0), "y": ("i32", 0), "c": ("i1", 0), "f": ("float", 0), "g": ("float", 0), "h": ("half", 0),
    "v": ("i32", 4), "w": ("i32", 4), "m": ("i1", 4), "e": ("i8", 4), "u": ("bfloat", 4), "t": ("float", 2),
    "p": ("ptr addrspace(1)", 0),
}
BINARY = ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and_", "or_", "xor", "shl", "lshr", "ashr")
CALLS = [
    *(f"b.{op}({args})" for op in BINARY for args in ("x, y", "x, 0", "x, 1", "0, x", "b.const('i32', 6), 3", "v, 2")),
    *(f"b.{op}({args})" for op in ("fadd", "fsub", "fmul", "fdiv") for args in ("f, g", "f, 0.0", "1.0, f", "t, 2.0")),
    "b.fneg(f)", "b.fma(f, g, 1.0)", "b.fma(2.0, f, g)", "b.fma(t, t, 0.5)",
    *(f"b.icmp('{p}', x, 5)" for p in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")),
    "b.icmp('eq', v, w)", "b.fcmp('oeq', f, 1.0)", "b.fcmp('une', t, t)",
    "b.select(c, x, y)", "b.select(c, v, w)", "b.select(m, v, 0)", "b.select(b.const('i1', 1), x, y)",
    "b.select(b.const('i1', 0), x, y)",
    "b.cast('sext', x, 'i32')", "b.cast('sext', x, 'i64')", "b.cast('zext', e, 'i32')", "b.cast('trunc', x, 'i8')",
    "b.cast('zext', b.const('i8', -1), 'i32')", "b.cast('sext', b.const('i8', -1), 'i32')",
    "b.cast('trunc', b.const('i32', 511), 'i8')", "b.cast('zext', c, 'i32')", "b.cast('zext', b.const('i1', 1), 'i32')",
    "b.cast('fpext', h, 'float')", "b.cast('sitofp', v, 'float')",
    "b.bitcast(x, 'i32')", "b.bitcast(x, 'float')", "b.bitcast(u, 'i16')", "b.bitcast(u, 'i32', 2)",
    "b.bitcast(x, 'i8', 4)", "b.bitcast(v, 'i64', 2)",
    "b.splat(x, 4)", "b.splat(b.const('i32', 7), 2)", "b.extract(v, 0)", "b.extract(v, 3)",
    "b.extract(b.const('i32', 9, 4), 2)", "b.insert(v, x, 1)", "b.vector([x, y])", "b.extract(b.vector([x, y]), 1)",
    "b.vector([t, t])", "b.vector([x])", "b.shuffle(v, [0, 1, 2, 3])", "b.shuffle(v, [2, 3])", "b.shuffle(v, [3, 0])",
    "b.shuffle(v, [0, 4], w)", "b.shuffle(v, [1])", "b.shuffle(b.const('i32', 7, 4), [1, 0])",
    "b.shuffle(b.vector([x, y]), [1, 0])", "b.concat([v, w])",
    "b.concat([v])", "b.shuffle(b.concat([v, w]), [4, 5, 6, 7])", "b.shuffle(b.concat([v, w]), [3, 4])",
    "b.each(lambda a: b.add(a, 3), v)", "b.like(v, 3)", "b.like(f, 0.1)", "b.like(h, 0.1)", "b.like(c, True)",
    "b.const_vector('i32', [1, -2])", "b.const_vector('half', [1.0, 2.0])",
    "b.gep(p, 0)", "b.gep(p, 8)", "b.gep(p, x)", "b.load('i32', 0, p, 4)", "b.load('float', 4, p, 16, invariant=True)",
    "b.store(x, p, 4)", "b.store(b.vector([x, y]), p, 8)",
    "b.intrinsic('llvm.umin', [x, y])", "b.intrinsic('llvm.fabs', [t])", "b.raw(b.called('f', 'void', [x]))",
    "b.call('f', 'i32', [x, f])", "b.call('f', 'i32', [x], 2)",
    "b.asm('add $0, $1, $2;', '=r,r,r', [x, y], 'i32', convergent=False, memory=False, pure=True)",
    "b.asm('bar.sync 0;', '', [], 'void', convergent=True, memory=True, pure=False)",
    "b.asm('ld $0;', '=r,r', [x], 'i32', convergent=False, memory=True, pure=False)",
    "b.asm('t $0, $1;', '=r,=f,r', [x], '{ i32, float }', convergent=False, memory=False, pure=False)",
]


def described(call: str) -> str:
    b = Builder()
    names: dict[str, Any] = {name: Val(elem, n, f"%{name}") for name, (elem, n) in OPAQUE.items()}
    value = eval(call, {"b": b, **names})
    if value is not None and value.text.startswith("%") and value.text[1:] not in names:
        b.raw(f"use {value}")
    result = "" if value is None else f" -> {value}" + ("" if value.const is None else f", which is {value.const}")
    lines = [line for line in b.text().splitlines() if line.strip() and not line.strip().startswith("use ")]
    return "\n".join([f"{call}{result}", *lines])


def test_the_text_of_calls(update_golden: bool) -> None:
    text = "\n".join(map(described, CALLS)) + "\n"
    if update_golden:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


# -- numbers


NUMBERS = [0.0, -0.0, 1.0, -1.5, 1 / 3, 65504.0, 65519.9, 65520.0, 1e-8, 6e-8, 3e38, 3.4e38, 3.3961775e38, 1e300, 1e-45,
           1e-310, 1.00390625, 1.01171875, 1.0039062, 1.0039063, math.inf, -math.inf]
TYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}


@pytest.mark.parametrize("elem", TYPES)
@pytest.mark.filterwarnings("ignore:overflow")
def test_floats_are_rounded_as_numpy_does(elem: str) -> None:
    """bfloat16 by way of float32, as every source of one is."""
    dtype = TYPES[elem]
    for number in NUMBERS:
        rounded = np.float32(number) if elem == "bfloat" else np.float64(number)
        want = int(np.array(rounded).astype(dtype).view(f"u{np.dtype(dtype).itemsize}"))
        assert float_bits(elem, number) == want, number
    for bits in range(0, 1 << 16, 97):  # all of its numbers stay, ties between them go to even
        if elem in ("half", "bfloat") and bits < 0x7800:
            a, c = (float(np.array(n, np.uint16).view(dtype)) for n in (bits, bits + 1))
            assert float_bits(elem, a) == bits and float_bits(elem, (a + c) / 2) == bits + bits % 2
    quiet = float_bits(elem, math.nan)
    assert math.isnan(float(np.array(quiet).astype(f"u{np.dtype(dtype).itemsize}").view(dtype)))


def test_how_floats_are_spelled() -> None:
    assert [float_text(elem, 0.1) for elem in TYPES] == [
        "0xH2E66", "0xR3DCD", "0x3FB99999A0000000", "0x3FB999999999999A"]
    assert [float_text(elem, -math.inf) for elem in TYPES] == ["0xHFC00", "0xRFF80", *["0xFFF0000000000000"] * 2]


@pytest.mark.parametrize("bits", [1, 8, 16, 32, 64])
def test_integers_wrap(bits: int) -> None:
    powers = (0, bits - 1, bits, bits + 1)
    for value in {s * (1 << e) + d for s, e, d in itertools.product((1, -1), powers, (-1, 0, 1))}:
        number, text = int_constant(f"i{bits}", value)
        want = value % 2 if bits == 1 else (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        assert number == want and text == ({0: "false", 1: "true"}[want] if bits == 1 else str(want))


def test_names_of_types() -> None:
    assert [type_text("i32", n) for n in (0, 1, 4)] == ["i32", "<1 x i32>", "<4 x i32>"]
    assert [suffix(*t) for t in (("half", 0), ("bfloat", 2), ("i64", 0), ("ptr addrspace(3)", 0), ("ptr", 0))] == [
        "f16", "v2bf16", "i64", "p3", "p0"]


def test_registers_full_of_a_constant() -> None:
    cases = [("i8", -2, 1, 0xFE), ("i8", 0x12, 4, 0x12121212), ("i16", -2, 4, 0xFFFEFFFE), ("i32", 5, 4, 5),
             ("i32", -1, 8, 2**64 - 1), ("i64", -1, 8, 2**64 - 1)]
    assert [constant_word(elem, value, size) for elem, value, size, _ in cases] == [want for *_, want in cases]


def lanes_of(b: Builder, n: int, elem: str = "float") -> Val:
    """A vector known by scalars."""
    return b.vector([Val(elem, 0, f"%{i}") for i in range(n)])


@pytest.mark.parametrize(("pairs", "n", "elem", "apart"), [
    (False, 64, "float", True), (False, 64, "i32", True), (False, 2, "float", True), (False, 64, "half", False),
    (True, 64, "float", False), (True, 64, "i32", True)])
def test_known_lanes_are_computed_one_by_one(pairs: bool, n: int, elem: str, apart: bool) -> None:
    """Of registers of their own, and unless the target computes pairs: no vector stands between."""
    b = Builder(pairs)
    x, y = lanes_of(b, n, elem), lanes_of(b, n, elem)
    total = b.binary("add" if elem == "i32" else "fadd", x, y)
    least = b.intrinsic("llvm.smin" if elem == "i32" else "llvm.minnum", [total, x])
    b.store(b.extract(least, n - 1), Val("ptr", 0, "%p"), 4)
    text = b.text()
    assert ("insertelement" not in text and "extractelement" not in text) is apart
    assert text.count("add ") == (n if apart else 1)
    mixed = b.binary("sub" if elem == "i32" else "fsub", total, Val(elem, n, "%whole"))
    assert mixed.text in b.text(), "one of them is known as a whole"


def test_a_block_computes_a_number_once() -> None:
    b = Builder()
    x = Val("i32", 0, "%x")
    with b.prologue():
        first = b.mul(x, 5)
    one, other = b.add(first, 3), b.add(b.mul(x, 5), 3)
    assert one is other, "the prologue's number, and what this block makes of it"
    b.start("next")
    assert b.mul(x, 5) is first
    again = b.add(first, 3)
    assert again is not one, "the other block may not come before this one"
    b.store(again, Val("ptr", 0, "%p"), 4)
    assert (b.text().count(" mul "), b.text().count(" add ")) == (1, 2)


@pytest.mark.parametrize(("elem", "lanes", "kind"), [
    ("float", 4, "float"), ("bfloat", 8, "<2 x bfloat>"), ("half", 8, "<2 x half>"), ("i32", 4, "i32")])
def test_what_is_loaded_has_its_own_type(elem: str, lanes: int, kind: str) -> None:
    """No word stands between a load where a predicate holds, what is computed, and a store."""
    b = Builder()
    pointer, predicate = Val("ptr addrspace(1)", 0, "%p"), Val("i1", 0, "%c")
    padding = b.const(elem, 0, lanes)
    found = load(b, "ld.global", pointer, predicate, padding)
    store(b, "st.global", pointer, predicate, found)
    text = b.text()
    assert "bitcast" not in text
    assert f"call {{ {kind}, {kind}, {kind}, {kind} }} asm" in text
    assert re.search(rf'st\.global.*"\(ptr addrspace\(1\) %p, i1 %c(, {re.escape(kind)} %v\d+){{4}}\)', text)
