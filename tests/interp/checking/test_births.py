"""Where numbers go wrong, against plain arithmetic: every pair of special values through every op, the boundaries of
casts, and index arithmetic around the largest integers."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
import pytest

import tilewright as tw

I32, F16 = tw.int32, tw.float16
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e-3, 3e38, -3e38, 500.0, -500.0, np.inf, -np.inf, np.nan, 2.5, 1e20]
N = len(SPECIAL)

OPS: dict[str, Any] = {  # of one operand or two
    "exp": lambda a, b: tw.exp(a), "log": lambda a, b: tw.log(a), "sqrt": lambda a, b: tw.sqrt(a),
    "rsqrt": lambda a, b: tw.rsqrt(a), "neg": lambda a, b: -a, "sin": lambda a, b: tw.sin(a),
    "cast": lambda a, b: a.astype(F16).astype(tw.float32),
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "pow": lambda a, b: a ** b, "min": lambda a, b: tw.minimum(a, b),
}
ONE = ("exp", "log", "sqrt", "rsqrt", "neg", "sin", "cast")
FLUSHING = ("mul", "div", "cast")  # makes zero of what is not, and says so


def first(where: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(where)[0])


@pytest.mark.parametrize("name", OPS)
def test_what_floats_become(name: str) -> None:
    make = OPS[name]

    @tw.tile_kernel
    def run(x, y, out):
        at = (tw.bid(0), 0), (N // 2, N)
        tw.store(out, at[0], make(tw.load(x, *at), tw.load(y, *at)))

    x, y = (np.array(m, np.float32) for m in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    out = np.zeros((N, N), np.float32)
    reports: Any = run.interpret(2, x, y, out, check="numerics", on_report="collect")
    found = {r.kind: r for r in reports}
    operands = [x] if name in ONE else [x, y]
    finite = np.all([np.isfinite(o) for o in operands], axis=0)
    wanted = {"nan": np.isnan(out) & ~np.any([np.isnan(o) for o in operands], axis=0),
              "overflow": np.isinf(out) & finite}
    if name in FLUSHING:
        wanted["underflow"] = (out == 0) & finite & np.all([o != 0 for o in operands], axis=0)
    assert set(found) == {kind for kind, where in wanted.items() if where.any()}
    for kind, report in found.items():
        i, j = first(wanted[kind])
        assert (report.block, report.values["element"]) == ((i // (N // 2), 0, 0), (i % (N // 2), j)), kind
        assert report.severity == ("note" if kind == "underflow" else "warning")
        assert kind != "underflow" or report.count == np.count_nonzero(wanted[kind])
        numbers = [v for k, v in report.values.items() if k not in ("element", "result")]
        assert np.array_equal(numbers, [o[i, j] for o in operands], equal_nan=True)


def test_sums_and_products_of_many() -> None:
    """A result is made of its row, or of a row and a column: what is wrong with others is not its own."""
    @tw.tile_kernel
    def run(x, y, sums, products):
        t = tw.load(x, (0, 0), (4, 4))
        tw.store(sums, 0, tw.sum(t, axis=1))
        tw.store(products, (0, 0), tw.matmul(t, tw.load(y, (0, 0), (4, 4))))

    x, y = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    x[0, 1], x[2, 2:], y[3, 1] = np.inf, 2e38, np.nan
    sums, products = np.zeros(4, np.float32), np.zeros((4, 4), np.float32)
    found: Any = run.interpret(1, x, y, sums, products, check="numerics", on_report="collect")
    assert [(r.kind, r.values["element"], r.message.split()[0]) for r in found] == [
        ("overflow", (2,), "sum"), ("overflow", (2, 0), "mma")]


CASTS: list[tuple[Any, Any, list[Any]]] = [
    (np.float32, tw.int8, [-129, -128.9, -128, -0.5, 127, 127.9, 128, np.nan, np.inf]),
    (np.float32, tw.uint8, [-1, -0.9, 0, 255, 255.9, 256, -np.inf]),
    (np.float32, tw.int32, [-2147483648, -2147483904, 2147483520, 2147483648]),
    (np.int32, tw.int8, [-129, -128, 127, 128, 256]),
    (np.int32, tw.uint32, [-1, 0, 2147483647]),
    (np.int32, tw.float32, [16777216, 16777217, -16777217, 2147483647, 16777218]),
    (np.int64, tw.float64, [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    (np.uint32, tw.int32, [0, 2**31 - 1, 2**31]),
    (np.uint8, tw.int8, [127, 128, 255]),
    (np.int8, tw.int32, [-128, 127]),
    (np.int16, tw.float16, [2048, 2049, -2049, 32767]),
]


@pytest.mark.parametrize("source, target, values", CASTS, ids=lambda v: "" if isinstance(v, list) else str(v))
def test_casts_that_change_a_number(source: Any, target: Any, values: list[Any]) -> None:
    @tw.tile_kernel
    def run(x, out):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), ()).astype(target))

    x = np.array(values, source)
    out = np.zeros(x.shape, np.dtype(str(target)))
    found: Any = run.interpret(len(values), x, out, check="numerics", on_report="collect")
    changed = []
    for value, after in zip(x.tolist(), out.tolist(), strict=True):
        if target.is_float:
            changed.append(not np.isfinite(after) or int(after) != value)
        else:
            low, high = target.int_range
            changed.append(not np.isfinite(value) or not low <= int(value) <= high)
    lossy = [r for r in found if r.kind == "lossy"]
    assert len(lossy) == any(changed), (changed, found)
    if lossy:
        assert lossy[0].count == sum(changed) and lossy[0].block == (changed.index(True), 0, 0)


NOT_LOSSY: dict[str, Any] = {
    "between floats": lambda t: t.astype(F16), "to a bool": lambda t: t.astype(tw.bool_),
    "unsigned to float": lambda t: (t.astype(tw.uint32) * 123456789).astype(tw.float32),
    "unsigned to unsigned": lambda t: t.astype(tw.uint32).astype(tw.uint8),
}


@pytest.mark.parametrize("name", NOT_LOSSY)
def test_casts_that_are_meant(name: str) -> None:
    make = NOT_LOSSY[name]

    @tw.tile_kernel
    def run(x, out):
        tw.store(out, 0, make(tw.load(x, 0, 4)).astype(tw.float32))

    x = np.array([0.1, 300, 70, 1000], np.float32)
    assert not run.interpret(1, x, np.zeros(4, np.float32), check="numerics", on_report="collect")


INDICES: dict[str, tuple[Any, Any]] = {  # of i and j, which are around the largest integers, and exactly
    "add": (lambda i, j: i + j, lambda i, j: i + j), "sub": (lambda i, j: i - j, lambda i, j: i - j),
    "mul": (lambda i, j: i * j, lambda i, j: i * j), "neg": (lambda i, j: -i, lambda i, j: -i),
    "shl": (lambda i, j: i << 4, lambda i, j: i * 16),
}
EDGE = [-(2**31), -(2**31) + 1, -65536, -1, 0, 1, 2, 46340, 46341, 65536, 2**27 - 1, 2**27, 2**31 - 2, 2**31 - 1]


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("through", ["nothing", "a mask", "a remainder", "memory"])
def test_indices_that_wrap(name: str, through: str) -> None:
    make, exact = INDICES[name]

    @tw.tile_kernel
    def run(x, a, b, scratch, out):
        at = make(tw.load(a, (0, 0), (16, 16)), tw.load(b, (0, 0), (16, 16)))
        if through == "a mask":
            at = at & 7
        if through == "a remainder":
            at = at % 8
        if through == "memory":
            tw.store(scratch, (0, 0), at)
            at = tw.load(scratch, (0, 0), (16, 16))
        tw.store(out, (0, 0), tw.gather(x, at))

    a, b = (np.resize(np.array(m, np.int32), (16, 16)) for m in np.meshgrid(EDGE, EDGE, indexing="ij"))
    scratch, out = np.zeros((16, 16), np.int32), np.zeros((16, 16), np.float32)
    found: Any = run.interpret(1, np.zeros(8, np.float32), a, b, scratch, out, check="numerics", on_report="collect")
    results = [exact(int(i), int(j)) for i, j in zip(a.flat, b.flat, strict=True)]
    wraps = np.array([not -(2**31) <= r < 2**31 for r in results]).reshape(16, 16)
    if through != "nothing":
        assert not found
        return
    [report] = found
    assert (report.kind, report.count, report.values["element"]) == ("wrap", np.count_nonzero(wraps), first(wraps))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_totals_that_wrap(name: str, dtype: str) -> None:
    """Against Python's integers; wide unsigned ones may."""
    total = getattr(tw, name)

    @tw.tile_kernel
    def run(x, out):
        tw.store(out, 0, total(tw.load(x, (0, 0), (64, 8)), axis=1))

    rng, info = np.random.default_rng(7), np.iinfo(dtype)
    x = np.ones((64, 8), dtype) if name == "prod" else rng.integers(info.min // 4, info.max // 4, (64, 8), dtype)
    x[:, :2] = rng.integers(max(info.min, -isqrt(info.max) - 9), isqrt(info.max) + 9, (64, 2), dtype)
    out = np.zeros(64, dtype)
    found: Any = run.interpret(1, x, out, check="numerics", on_report="collect")
    exact = (np.add if name == "sum" else np.multiply).reduce(x.astype(object), axis=1)
    wrong = int(np.count_nonzero(exact != out.astype(object)))
    assert [(r.kind, r.severity, r.count) for r in found] == (
        [("wrap", "warning", wrong)] if wrong and dtype != "uint32" else [])
