"""Powers of differences with products of matrices: one fma for the difference and the logarithm, where that shows
nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.merge_logarithms import merge_logarithms
from tilewright.tileir.passes.shorten_exponentials import shorten_exponentials

ROWS, COLUMNS, DEPTH = 16, 64, 16
Array = Any


def maximum(s):
    return tw.max(s, axis=1, keepdims=True)


def hidden(s, row, value):
    """All columns of odd rows, and a triangle of even ones, are hidden."""
    column = tw.arange(COLUMNS, dtype=tw.int32)[None, :]
    return tw.where((row % 2 == 0) & (column <= 4 * row), s, value)


def above(s, least):
    """The maximum of each row, at least a number."""
    return tw.maximum(tw.full((ROWS, 1), least, tw.float32), maximum(s))


def power(s):
    return tw.exp(s - maximum(s))


MERGED: dict[str, Callable[..., Any]] = {
    "plain": lambda s, row, scale: tw.exp(s * scale - maximum(s * scale)).astype(tw.float16),
    "infinite": lambda s, row, scale: tw.exp(
        hidden(s * scale, row // 2 * 2, -math.inf) - maximum(s * scale)).astype(tw.bfloat16),
    "not huge": lambda s, row, scale: tw.exp(hidden(s, row, -math.inf) - above(s, -1e30)).astype(tw.bfloat16),
    "fused": lambda s, row, scale: tw.exp(s * scale - maximum(s) * scale).astype(tw.float16),
    "permuted": lambda s, row, scale: tw.exp(
        s.transpose() - maximum(s).reshape((1, ROWS))).transpose().astype(tw.float16),
}
APART: dict[str, Callable[..., Any]] = {
    "a mask of numbers": lambda s, row, scale: tw.exp(hidden(s * scale, row, -1e9) - maximum(s)).astype(tw.bfloat16),
    "huge": lambda s, row, scale: tw.exp(hidden(s, row, -math.inf) - above(s, -3.4e38)).astype(tw.bfloat16),
    "stored": lambda s, row, scale: tw.exp(s - maximum(s)),
    "no product": lambda s, row, scale: tw.exp(row + 0.0 * s - maximum(s)).astype(tw.float16),
    "used twice": lambda s, row, scale: ((s - maximum(s)) * 0.5 + tw.exp(s - maximum(s)).astype(tw.float16)),
    "many numbers": lambda s, row, scale: tw.exp(s - tw.abs(s)).astype(tw.float16),
    "a bias": lambda s, row, scale: power(s + row).astype(tw.float16),
    "what a function chooses": lambda s, row, scale: tw.exp(
        s - tw.reduce(row + tw.zeros((ROWS, COLUMNS), tw.float32), 1, max, 0.0, keepdims=True)).astype(tw.float16),
    "not flushed": lambda s, row, scale: (tw.exp(s - maximum(s)) * s).astype(tw.float16),
    "fused with a mask": lambda s, row, scale: tw.exp(
        hidden(s, row, -1e9) * scale - maximum(s) * scale).astype(tw.bfloat16),
}


def kernel_of(function: Callable[..., Any]) -> Function:
    @tw.tile_kernel
    def kernel(a, b, out, scale: float):
        s = tw.mma(tw.load(a, (0, 0), (ROWS, DEPTH)), tw.load(b, (0, 0), (DEPTH, COLUMNS)),
                   tw.zeros((ROWS, COLUMNS), tw.float32))
        row = tw.arange(ROWS, dtype=tw.int32)[:, None]
        tw.store(out, (0, 0), function(s, row, scale).astype(tw.float32))

    half = np.float16
    return parse(kernel.ir(np.zeros((ROWS, DEPTH), half), np.zeros((DEPTH, COLUMNS), half),
                           np.zeros((ROWS, COLUMNS), np.float32), 0.25))


def operands(size: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return ((size * rng.standard_normal((ROWS, DEPTH))).astype(np.float16),
            rng.standard_normal((DEPTH, COLUMNS)).astype(np.float16))


def result(f: Function, size: float) -> Array:
    out = np.zeros((ROWS, COLUMNS), np.float32)
    compile_function(f).run((1, 1, 1), [*operands(size), out, 0.3], ExecutionOptions())
    return out


def opcodes(f: Function) -> list[str]:
    return [op.opcode for op in f.walk()]


def merge(f: Function) -> None:
    shorten_exponentials(Unit(f))
    merge_logarithms(Unit(f), lambda op: isinstance(op, Mma))


@pytest.mark.parametrize("name", MERGED)
def test_merged(name: str) -> None:
    """Within the rounding to 8 or 11 bits of what the difference itself gives."""
    before, f = kernel_of(MERGED[name]), kernel_of(MERGED[name])
    merge(f)
    assert "exp2" in opcodes(f) and "exp" not in opcodes(f)
    for size in (1, 30):
        want, got = result(before, size), result(f, size)
        assert np.allclose(got, want, rtol=2.0**-7, atol=2.0**-24, equal_nan=True), np.abs(got - want).max()


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    f = kernel_of(APART[name])
    merge(f)
    assert "exp" in opcodes(f) and "exp2" not in opcodes(f)


@pytest.mark.parametrize("occupancy", [None, 2])
def test_where_ctas_share_an_sm(occupancy: int | None) -> None:
    """Elsewhere the chain of a CTA counts, not its instructions."""
    f = kernel_of(MERGED["plain"])
    f.hints = replace(f.hints, occupancy=occupancy)
    run_passes(f, get_target("sm_90a"))
    assert ("exp2" in opcodes(f)) == (occupancy == 2)
