"""What fuzzing has found, by the smallest program that shows it: each once more through every oracle but a GPU."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from fuzz.oracles import check
from fuzz.program import Node, Parameter, Program

EVERY = ["oracle", "single", "text", "passes", "simulator"]
INPUT, OUTPUT = Parameter("x", "int32", (256,)), Parameter("out", "int32", (256,), output=True)
FINDS = {
    # `take` from shared memory took its first row for a slot of a ring in the interpreter.
    "take from shared memory": [
        "t = ct.load(x, 0, 256)",
        "ct.store(out, 0, ct.roll(t // 3, -1, 0) | t)"],
    "take of rows from shared memory": [
        "t = ct.load(x, 0, 256).reshape((4, 64))",
        "i = ct.load(x, 0, 16).reshape((2, 8)) % 9",
        "ct.store(out, 0, ct.take(t.reshape((4, 8, 8)), i[:, None, :], 0).reshape((128,)))"],
    # LLVM took a constant of which it needs one lane for unknown: and gave 0, or 255.
    "one of two bytes": [
        "t = ct.load(x, 0, 2).astype(ct.int8)",
        "ct.store(out, 0, (t & 2).extract((1,), (1,)).astype(ct.int32))",
        "ct.store(out, 1, (t | 2).extract((1,), (1,)).astype(ct.int32))",
        "ct.store(out, 2, (t ^ 2).extract((1,), (1,)).astype(ct.int32))"],
    # The stage of a copy of a constant was lost.
    "a constant as B": [
        "t = ct.load(x, 0, 128).reshape((128, 1)) % 4",
        "s = ct.mma(ct.full((128, 32), 7, ct.uint8), ct.full((32, 8), 3, ct.uint8), ct.broadcast_to(t, (128, 8)))",
        "ct.store(out, 0, ct.sum(s, axis=1))"],
}
MODES = ("RN", "RZ", "RM", "RP")
# A product in a sum is fused if both round alike; -0.0 comes of numbers that cancel and of zeros, rounded down.
SUMS = ("ct.sub(ct.mul(a, b, {0}), c, {1})", "ct.sub(c, ct.mul(a, b, {0}), {1})", "ct.add(ct.mul(a, b, {0}), c, {1})",
        "ct.add(ct.mul(a, a, {0}), -a * a, {1})", "ct.sub(ct.mul(a, c, {0}), ct.mul(c, a, {1}), {1})",
        "ct.mul(a, b, {0}) - b * c")
FLUSHED = ", flush_to_zero=True"


@pytest.mark.parametrize("name", FINDS)
def test_find(name: str) -> None:
    program = Program(0, (1,), [INPUT, OUTPUT], [Node(text) for text in FINDS[name]])
    check(program, EVERY)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_fused_products_round_as_the_language_says(dtype: str) -> None:
    parameters = [Parameter(name, dtype, (16,)) for name in ("x", "y", "z")]
    body = [f"{name} = ct.load({array}, 0, 16)" for name, array in zip("abc", "xyz", strict=True)]
    sums = [text.format(*(f"rounding_mode=ct.RoundingMode.{mode}" for mode in modes))
            for text in SUMS for modes in itertools.product(MODES, MODES) if modes[0] == modes[1] or "RM" in modes]
    sums += ["a // b", "a % b", "a // 0.0", "a % -2.5", "1.5 // a", "-1.0 % a"]
    if dtype == "float32":
        sums += [re.sub(r"(RoundingMode.\w+)", rf"\1{FLUSHED}", text) for text in sums[::3]]
    body += [f"ct.store(out, {k}, {text})" for k, text in enumerate(sums)]
    out = Parameter("out", dtype, (16 * len(sums),), output=True)
    check(Program(3, (1,), [*parameters, out], [Node(text) for text in body]), EVERY)


def test_a_product_of_constants_is_a_constant() -> None:
    """It is rounded before the difference takes it."""
    import tilewright as ct

    @ct.tile_kernel
    def kernel(x, out):
        known, tile = ct.float32(3.25) * ct.float32(1000003.25), ct.full((1,), 3.25, ct.float32)
        ct.store(out, 0, ct.load(x, 0, 1) - known)
        ct.store(out, 1, ct.load(x, 0, 1) - tile * ct.float32(1000003.25))

    x, out = np.array([3250010.25], np.float32), np.zeros(2, np.float32)
    kernel[(1,)](x, out)
    product = np.float64(3.25) * 1000003.25
    assert np.float32(product) != product
    assert list(out) == [x[0] - np.float32(product), np.float32(np.float64(x[0]) - product)]
    assert out[0] != out[1]
