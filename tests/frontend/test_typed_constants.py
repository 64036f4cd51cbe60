"""A constant of a dtype computes as a tile of that dtype does: the same kernel with numbers and with loaded scalars."""

from __future__ import annotations

import linecache
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.tileir.diagnostics import TileError

VALUES: dict[str, tuple[Any, list[Any]]] = {
    "int8": (np.int8, [-128, -3, 0, 7]),
    "float16": (np.float16, [-0.0, 0.5, 2e9, -math.inf, math.nan]),
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, [0.0, -0.0, -1.5]),
}
UNARY = ["-x", "~x", "abs(x)", "tw.sqrt(x)", "tw.floor(x)", "tw.isnan(x)",
         *(f"x.astype(tw.{name})" for name in ("bool_", "int8", "int32", "uint64", "float16", "float8_e5m2"))]
BINARY = ["x + y", "tw.sub(x, y, rounding_mode=tw.RoundingMode.RM)", "x * y", "x / y", "x // y", "x % y", "x ** y",
          "x & y", "x << y", "x < y", "tw.minimum(x, y)", "tw.maximum(x, y)", "tw.cdiv(x, y)", "tw.where(x > y, x, y)"]


def kernel(lines: list[str]) -> Any:
    name = "<typed constants>"
    head = "import tilewright as tw\nSMALL = (tw.float8_e4m3fn, tw.float8_e5m2)\n\n@tw.tile_kernel\n"
    text = head + "def kernel(out, xs, ys):\n" + "\n".join(lines) + "\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module: dict[str, Any] = {}
    exec(compile(text, name, "exec"), module)
    return module["kernel"]


def defined(expression: str, dtype: str, x: Any, y: Any) -> bool:
    """Whether the language says what comes out; functions that are not correctly rounded are left to other tests."""
    if dtype == "int8":
        if "**" in expression:
            return bool(y >= 0 or x)
        overflows = dtype == "int8" and x == -128 and y == -1
        return not any(s in expression for s in ("//", "%", "cdiv", "<<")) or (0 < y < 8 and not overflows)
    return "**" not in expression or (y == 0.5 and not (math.isfinite(x) and x)) or y in (0.0, 1.0)


def run(lines: list[str], arrays: tuple[Any, Any], count: int) -> np.ndarray:
    for out in (np.zeros(count, np.float64), np.zeros(count, np.int64), np.zeros(count, np.uint64)):
        try:
            kernel(lines)[(1,)](out, *arrays)
        except TileError as error:
            if "is not converted" not in str(error):
                raise
        else:
            return out
    raise AssertionError(lines)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("expression", UNARY + BINARY)
def test_constants_compute_as_tiles(expression: str, dtype: str) -> None:
    numpy_dtype, values = VALUES[dtype]
    pairs = [(x, y) for x in values for y in (values if "y" in expression.replace("type", "") else [values[0]])
             if defined(expression, dtype, x, y)]
    with np.errstate(all="ignore"):
        xs, ys = np.array(pairs).T.astype(numpy_dtype)
    arrays = xs.copy(), ys.copy()
    store = f"    r = {expression}; tw.store(out, {{0}}, r.astype(tw.float64) if r.dtype in SMALL else r)"
    loaded = "    x = tw.load(xs, {0}, ()); y = tw.load(ys, {0}, ())\n" + store
    try:
        want = run([loaded.format(i) for i in range(len(pairs))], arrays, len(pairs))
    except TileError:
        return  # no function of this dtype; tests/errors and the cells say which are refused
    made = "    x = tw.{1}({2}); y = tw.{1}({3})\n" + store
    literal = [[f"float('{v}')" if isinstance(v, float) else str(v) for v in pair] for pair in pairs]
    got = run([made.format(i, dtype, *both) for i, both in enumerate(literal)], arrays, len(pairs))
    assert got.dtype == want.dtype
    wrong = [(pair, g, w) for pair, g, w in zip(pairs, got, want, strict=True)
             if not (g == w and np.signbit(g) == np.signbit(w)) and not (g != g and w != w)]
    assert not wrong
