"""Inputs of the sweep's kernels, the grid of each, and some rows of what NumPy computes for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.sweep.cases import GROUPS, Case

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e5m2": ml_dtypes.float8_e5m2,
          "i32": np.int32}
# The root mean square of errors beside that of the results: roundings of operands, of weights of a softmax above all.
TOLERANCE = {"f32": 2e-3, "f16": 1e-2, "bf16": 2e-2, "e5m2": 0.15}
BLOCKS = 264  # of kernels that walk over their tiles
ROWS = 32  # compared with NumPy
OUT = {"attention": 3, "latent_attention": 2, "grouped_gemm": 3, "rms_norm": 2, "layer_norm": 3,
       "persistent_layer_norm": 3, "gemm": 2, "persistent_gemm": 2, "grouped_gemm_list": 2, "whole_product": 2,
       "softmax": 1, "persistent_softmax": 1, "chunked_softmax": 1, "transpose": 1}

Check = Callable[[Any], tuple[np.ndarray, np.ndarray]]


def can_run(case: Case) -> bool:
    return case.kernel in OUT


def inputs(case: Case, rng: np.random.Generator) -> list[Any]:
    """One argument each: random arrays where the case has a spec, starts of the groups for those of a grouped GEMM."""
    def array(text: str) -> np.ndarray:
        name, shape = re.fullmatch(r"(\w+)\[([\d,]+)\]", text).groups()  # type: ignore[union-attr]
        extents = [int(n) for n in shape.split(",")]
        if name == "i32":
            return np.array([0, 1000, 1000, 2500, 4096][: GROUPS + 1], np.int32)
        return rng.standard_normal(extents, dtype=np.float32).astype(DTYPES[name])

    out: list[Any] = []
    for given in case.args:
        if isinstance(given, list):
            out.append([array(text) for text in given])
        else:
            out.append(array(given) if isinstance(given, str) else given)
    return out


def grid(case: Case, args: list[Any]) -> tuple[int, ...]:
    tiles = [a for a in case.args if isinstance(a, int) and not isinstance(a, bool)]

    def count(length: int, tile: int) -> int:
        return -(-length // tile)

    match case.kernel:
        case "attention" | "latent_attention":
            return count(args[0].shape[1], tiles[0]), args[0].shape[0]
        case "gemm" | "whole_product":
            return count(args[2].shape[0], tiles[0]), count(args[2].shape[1], tiles[1])
        case "grouped_gemm":
            return count(args[0].shape[0], tiles[0]), count(args[3].shape[1], tiles[1]), GROUPS
        case "transpose":
            return count(args[0].shape[0], tiles[0]), count(args[0].shape[1], tiles[1])
        case "persistent_gemm" | "grouped_gemm_list" | "persistent_softmax" | "persistent_layer_norm":
            return (BLOCKS,)
    return (count(args[0].shape[0], tiles[0]),)


def error(case: Case, args: list[Any], out: Any, rng: np.random.Generator) -> float:
    """The root mean square of the errors of some rows of the output, as a share of that of the results."""
    place = OUT[case.kernel]
    if isinstance(args[place], list):
        g = int(rng.integers(len(out)))
        args, out = [a[g] if isinstance(a, list) else a for a in args], out[g]
    rows = np.sort(rng.choice(out.shape[-2], ROWS, replace=False))
    head = int(rng.integers(out.shape[0])) if out.ndim == 3 else None
    got = (out[rows] if head is None else out[head, rows]).astype(np.float64)
    want = _reference(case, args, rows, head)
    return float(np.sqrt(np.mean((got - want) ** 2)) / np.sqrt(np.mean(want**2)))


def _reference(case: Case, args: list[Any], rows: np.ndarray, head: int | None) -> np.ndarray:
    wide = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype != np.int32 else a for a in args]
    match case.kernel:
        case "attention":
            return _attention(wide, case.args, rows, head)
        case "latent_attention":
            q, k, scale, dv = wide[0][head][rows], wide[1], case.args[3], case.args[-1]
            return _softmax(q @ k.T * scale) @ k[:, :dv]
        case "grouped_gemm":
            group = np.searchsorted(args[2], rows, side="right") - 1
            return np.stack([wide[0][r] @ wide[1][g] for r, g in zip(rows, group, strict=True)])
        case "transpose":
            return wide[0].T[rows]
        case "rms_norm":
            x = wide[0][rows]
            return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5) * wide[1]
        case "layer_norm" | "persistent_layer_norm":
            x = wide[0][rows]
            x = x - x.mean(axis=1, keepdims=True)
            return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5) * wide[1] + wide[2]
        case "softmax" | "persistent_softmax" | "chunked_softmax":
            return _softmax(wide[0][rows])
    return wide[0][rows] @ wide[1]


def _attention(wide: list[Any], args: tuple[Any, ...], rows: np.ndarray, head: int | None) -> np.ndarray:
    causal, capped, _ = args[-3:]
    score = wide[0][head][rows] @ wide[1][head].T * args[5]
    if capped:
        score = 30.0 * np.tanh(score / 30.0)
    if causal:
        score = np.where(np.arange(score.shape[1])[None, :] <= rows[:, None], score, -math.inf)
    return _softmax(score) @ wide[2][head]


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
