"""What is no function of the language shows itself in a function of a block's number and of four int32 values.

Python itself is the reference: the same function runs on NumPy values where it can, else a second function says what
Python would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.model import Array, Batch

import tilewright as ct

Feature = tuple[tuple[str, ...], Callable[..., Any], Callable[..., Any]]


def registering(features: list[Feature]) -> Callable[..., Any]:
    """A decorator that adds a function f(b, t) as what shows some names; `like` is its meaning in NumPy where it is
    another."""

    def feature(*names: str, like: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
        def register(function: Any) -> Any:
            features.append((names, function, like or function))
            return function

        return register

    return feature


def feature_task(names: tuple[str, ...], function: Callable[..., Any], like: Callable[..., Any]) -> Task:
    def body(ins, out):
        t = ct.load(ins[0], (ct.bid(0), 0), (1, 4)).reshape((4,))
        ct.store(out, (ct.bid(0), 0), ct.astype(ct.broadcast_to(function(ct.bid(0), t), (4,)), ct.int32)[None])

    def reference(ins: tuple[Any, ...], out: Array) -> Array:
        for b in range(2):
            out[b] = like(b, ins[0][b])
        return out

    return Task(names, 1, "control flow", lambda rng: ((rng.integers(-20, 50, (2, 4)).astype(np.int32),),
                                                       np.zeros((2, 4), np.int32)), body, reference)


def feature_batches(features: list[Feature]) -> Iterator[Batch]:
    for names, function, like in features:
        yield arraywise(f"feature-{function.__name__}", "int32", [feature_task(names, function, like)])
