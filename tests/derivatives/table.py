"""The table of differentiable functions: each over ranks, ends of arrays, length 1 and broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tilewright as tw

EVERYWHERE = (-2.0, 2.0)
POSITIVE = (0.3, 3.0)
INSIDE = (-0.9, 0.9)
GRID = (4,)


class Row(NamedTuple):
    """What is made of one tile or two, from which interval elements come, and the bound of narrow dtypes: how many
    roundings (of the largest gradient) the error may be."""

    function: Callable[..., Any]
    interval: tuple[float, float] = EVERYWHERE
    roundings: float = 8.0


ONE: dict[str, Row] = {
    "neg": Row(lambda t: -t), "abs": Row(abs, POSITIVE), "abs of negatives": Row(abs, (-3.0, -0.3)),
    "exp": Row(tw.exp), "exp2": Row(tw.exp2), "expm1": Row(tw.expm1),
    "log": Row(tw.log, POSITIVE), "log2": Row(tw.log2, POSITIVE), "log1p": Row(tw.log1p, INSIDE),
    "sqrt": Row(tw.sqrt, POSITIVE), "rsqrt": Row(tw.rsqrt, POSITIVE),
    "sin": Row(tw.sin), "cos": Row(tw.cos), "tan": Row(tw.tan, (-1.0, 1.0)),
    "sinh": Row(tw.sinh), "cosh": Row(tw.cosh), "tanh": Row(tw.tanh),
    "asin": Row(tw.asin, INSIDE), "acos": Row(tw.acos, INSIDE), "atan": Row(tw.atan),
    "asinh": Row(tw.asinh), "acosh": Row(tw.acosh, (1.3, 4.0)), "atanh": Row(tw.atanh, INSIDE),
    "erf": Row(tw.erf), "erfc": Row(tw.erfc), "sigmoid": Row(tw.sigmoid),
    "floor and the rest": Row(lambda t: (t - tw.floor(t)) * t, (0.1, 0.9)),
    "power of an int": Row(lambda t: t**3), "power of a float": Row(lambda t: t**2.5, POSITIVE),
    "casts": Row(lambda t: (t.astype(tw.float64) * 3.0).astype(t.dtype)),
}
TWO: dict[str, Row] = {
    "add": Row(lambda a, b: a + b), "sub": Row(lambda a, b: a - b), "mul": Row(lambda a, b: a * b),
    "div": Row(lambda a, b: a / b, POSITIVE), "fma": Row(lambda a, b: a * b + a),
    "pow": Row(lambda a, b: a**b, (0.5, 2.0)), "mod": Row(lambda a, b: (a + 8.0) % b, (1.7, 1.9)),
    "atan2": Row(tw.atan2, POSITIVE), "maximum": Row(tw.maximum), "minimum": Row(tw.minimum),
    "where": Row(lambda a, b: tw.where(a > b, a * a, b)),
}


def of_one(function: Callable[[Any], Any]) -> tw.tile_kernel:
    @tw.tile_kernel
    def kernel(x0, x1, x2, x3, y0, y1, y2, y3):
        i = tw.bid(0)
        tw.store(y0, i, function(tw.load(x0, i, ())))
        tw.store(y1, i, function(tw.load(x1, i, 4)))
        tw.store(y2, (i // 2, i % 2), function(tw.load(x2, (i // 2, i % 2), (2, 4))))
        tw.store(y3, (i // 2, 0, i % 2), function(tw.load(x3, (i // 2, 0, i % 2), (2, 1, 4))))

    return kernel


def of_two(function: Callable[[Any, Any], Any]) -> tw.tile_kernel:
    """Second operands: of the same shape, a scalar, and tiles that are repeated along one axis and along two."""

    @tw.tile_kernel
    def kernel(x0, x1, x2, x3, w0, w1, w2, w3, y0, y1, y2, y3):
        i, row, column = tw.bid(0), tw.bid(0) // 2, tw.bid(0) % 2
        tw.store(y0, i, function(tw.load(x0, i, ()), tw.load(w0, i, ())))
        tw.store(y1, i, function(tw.load(x1, i, 4), tw.load(w1, i, 4)))
        two = function(tw.load(x2, (row, column), (2, 4)), tw.load(w2, (row, 0), (2, 1)))
        tw.store(y2, (row, column), two)
        three = function(tw.load(x3, (row, 0, column), (2, 1, 4)), tw.load(w3, (0, 0, column), (1, 1, 4)))
        tw.store(y3, (row, 0, column), three)

    return kernel


SHAPES = ((4,), (14,), (3, 7), (3, 1, 5))
BESIDE = ((4,), (14,), (3, 1), (1, 1, 5))


class Case(NamedTuple):
    """One row as a kernel with float64 arguments."""

    kernel: tw.tile_kernel
    arguments: dict[str, Any]
    wrt: list[str]
    outputs: list[str]
    roundings: float


def case(name: str) -> Case:
    """The row of a name as a kernel; inputs are numbers that bfloat16 holds, so that each dtype gets the same."""
    row = ONE.get(name) or TWO[name]
    random = np.random.default_rng(len(name))
    inputs = {f"x{k}": drawn(random, row.interval, shape) for k, shape in enumerate(SHAPES)}
    if name in TWO:
        inputs |= {f"w{k}": drawn(random, row.interval, shape) for k, shape in enumerate(BESIDE)}
    outputs = {f"y{k}": np.zeros(shape) for k, shape in enumerate(SHAPES)}
    make: Any = of_two if name in TWO else of_one
    return Case(make(row.function), inputs | outputs, list(inputs), list(outputs), row.roundings)


def drawn(random: Any, interval: tuple[float, float], shape: tuple[int, ...]) -> Any:
    """Numbers of the interval with eight bits, none near its ends."""
    low, high = interval
    margin = 0.05 * (high - low)
    numbers = random.uniform(low + margin, high - margin, shape).astype(np.float32)
    return (numbers.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(np.float64)
