"""Element-wise ops in the simulator give the interpreter's bits, over random patterns and edge values of each dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.interp_cases import array_dtype, bits, samples
from support.lowering_kernels import elementwise
from support.lowering_sets import FP8, KERNELS, NUMBERS, named, one

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate, simulate_function
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, convert, math
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.parser import parse

N = 592  # two full tiles and a part of one


def compare(function: Function, target: str, adjust: Callable[[list[np.ndarray]], None] | None = None) -> None:
    """Run both executors on the same inputs; every output must have equal bits."""
    inputs = [samples(p.type.dtype, N, seed) for seed, p in enumerate(function.params) if p.hint.startswith("in")]
    if adjust is not None:
        adjust(inputs)
    kinds = [array_dtype(p.type.dtype) for p in function.params[len(inputs):]]
    wanted = [np.zeros(N, kind) for kind in kinds]
    got = [np.zeros(N, kind) for kind in kinds]
    with np.errstate(all="ignore"):
        compile_function(function).run((3, 1, 1), [*inputs, *wanted])
        simulate_function(function, (3, 1, 1), [*inputs, *got], target)
        for op, want, have in zip(_computed(function), wanted, got, strict=True):
            if _approximate(op):
                continue
            wrong = np.flatnonzero(bits(want) != bits(have))
            assert not len(wrong), (
                f"{op.opcode} {op.attributes}: {len(wrong)} differ, the first for {[x[wrong[0]] for x in inputs]}: "
                f"{have[wrong[0]]!r}, expected {want[wrong[0]]!r}")


def _computed(function: Function) -> list[Any]:
    return [op.value.op for op in function.walk() if isinstance(op, Store)]


def _approximate(op: object) -> bool:
    """Ops whose result is not fixed to the last bit: approximations, and functions with a bound of their own."""
    mode = getattr(op, "rounding", None)
    return isinstance(op, (math.Exp, math.Exp2, math.Rsqrt, math.Tanh)) or (
        isinstance(op, (arith.Div, math.Sqrt)) and mode in (RoundingMode.APPROX, RoundingMode.FULL))


def defined(inputs: list[np.ndarray]) -> None:
    """No division by zero and no overflowing one: their results are undefined."""
    y = inputs[1]
    if y.dtype.kind in "iu":
        y[y == 0] = 3
        y[y == y.dtype.type(-1 if y.dtype.kind == "i" else 0)] = 5


def small_exponents(inputs: list[np.ndarray]) -> None:
    """Some of them negative, and then of bases that have an inverse, too."""
    inputs[1][:] = inputs[1] % 40 - 5
    inputs[0][::5] = np.array(-1).astype(inputs[0].dtype)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("function", KERNELS, ids=named)
def test_same_bits(function: Function, target: str) -> None:
    kind = function.name.partition("_")[0]
    compare(function, target, {"int": defined, "pow": small_exponents}.get(kind))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("source", NUMBERS, ids=str)
def test_to_float8(source, target) -> None:
    compare(elementwise("to8", [source], [one(convert.Cast, dtype=d) for d in FP8]), target)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("source", FP8, ids=str)
def test_from_float8(source, target) -> None:
    """By instructions, and by moving bits where there are none."""
    dtypes = [d for d in (*NUMBERS, *FP8) if d is not source]
    compare(elementwise("from8", [source], [one(convert.Cast, dtype=d) for d in dtypes]), target)


@pytest.mark.parametrize("dtype, most", [("i32", (1 << 31) - 1), ("i16", (1 << 15) - 1), ("i64", (1 << 63) - 1)])
def test_quotients_of_what_is_never_negative(dtype: str, most: int) -> None:
    """They are divided as unsigned numbers; those of other numbers by a power of two are shifts."""
    constants = {"most": most, "seven": 7, "eight": 8, "three": 3}
    lines = [f"  %{name}: tile<256x{dtype}> = constant(value={n}, type=tile<256x{dtype}>)"
             for name, n in constants.items()]
    for name in ("in0", "in1"):
        lines.append(f"  %t{name}: tile<256x{dtype}> = load(array=%{name}, index=(%i), steps=(256), order=(0), "
                     f"shape=(256))")
    lines += [f"  %{name}: tile<256x{dtype}> = and(lhs=%t{array}, rhs=%{mask})"
              for name, array, mask in (("x", "in0", "most"), ("y", "in1", "most"), ("z", "in1", "seven"))]
    pairs = [(x, y) for x in ("x", "tin0") for y in ("y", "z", "eight", "three")]
    made = [(word, x, y) for word in ("floordiv", "cdiv", "mod") for x, y in pairs]
    for number, (word, x, y) in enumerate(made):
        lines += [f"  %r{number}: tile<256x{dtype}> = {word}(lhs=%{x}, rhs=%{y})",
                  f"  store(array=%out{number}, index=(%i), value=%r{number}, steps=(256), order=(0))"]
    arrays = ", ".join(f"%{name}: array<?x{dtype}, strides=1>" for name in (
        "in0", "in1", *(f"out{n}" for n in range(len(made)))))
    body = "\n".join(["  %i: i32 = block_id(axis=0)", *lines, "  return()"])

    def odd(inputs: list[np.ndarray]) -> None:
        inputs[1][:] |= 1
        inputs[0][:2] = inputs[1][:2] = most, 1

    compare(parse(f"func @quotients({arrays}) {{\n{body}\n}}"), "sm_80", odd)


def test_powers_whose_exponent_is_known() -> None:
    @tw.tile_kernel
    def kernel(x, out):
        t = tw.load(x, 0, 64)
        for i in tw.static_iter(range(12)):
            tw.store(out, i, t ** (i - 3))

    x = np.linspace(-2, 2, 64).astype(np.float32)
    out, want = np.zeros(64 * 12, np.float32), np.zeros(64 * 12, np.float32)
    simulate(kernel, (1,), (x, out), "sm_80")
    kernel.interpret(1, x, want)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    "value, wanted", [("nan", 0), ("inf", 127), ("-inf", -128), ("0x1.fp+1", 3), ("-0x1.fp+1", -3)])
def test_constants_that_no_pass_has_converted(value: str, wanted: int) -> None:
    function = parse(f"""func @k(%out: array<?xi8, strides=1>) {{
  %c: tile<64xf32> = constant(value={value}, type=tile<64xf32>)
  %d: tile<64xi8> = cast(src=%c, dtype=i8)
  %0: i32 = constant(value=0, type=tile<i32>)
  store(array=%out, index=(%0), value=%d, steps=(64), order=(0))
  return()
}}
""")
    out = np.ones(64, np.int8)
    simulate_function(function, (1, 1, 1), [out], "sm_80")
    assert (out == wanted).all()
