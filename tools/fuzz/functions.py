"""Random Tile IR, from the generator of the tests: text, passes of both halves, and modes keep every bit."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
from support.tileir.programs import arguments, random_function

import tilewright.backend_ptx.ops  # noqa: F401
from fuzz.oracles import EVERY_PASS, TARGETS
from tilewright.backend_ptx import backend_dumps
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify


def check_function(seed: int) -> tuple[str, str]:
    """The outcome of a seed's function, and what is wrong with it."""
    function = random_function(seed, 5 + seed % 41)
    try:
        wrong = _wrong(function, seed)
    except Exception:
        wrong = traceback.format_exc(limit=-8)
    return ("mismatch", f"{wrong}\n{to_text(function)}") if wrong else ("equal", "")


def _wrong(function: Function, seed: int) -> str:
    verify(function)
    text = to_text(function)
    want = _results(function, seed)
    parsed = parse(text)
    if to_text(parsed) != text:
        return "prints differently after parsing"
    states: list[tuple[str, str]] = [("text", text)]

    def observe(name: str, now: Function) -> None:
        states.append((name, to_text(now)))

    now = clone_function(function)
    run_pipeline(now, verify=True, observer=observe)
    ends = {len(states) - 1}
    try:
        backend_dumps(now, TARGETS[seed % 2], observe)
        ends.add(len(states) - 1)
    except TileUnsupportedFeatureError:
        pass
    for k, (name, changed) in enumerate(states):
        if (k in ends or k == 0 or seed % EVERY_PASS == 0) and (k == 0 or changed != states[k - 1][1]):
            if not _same(_results(parse(changed), seed), want, name in REASSOCIATES):
                return f"{name} changes a result"
            if name in REASSOCIATES:
                break
    return ""


REASSOCIATES = frozenset({"split_reductions", "split_mmas"})  # docs/architecture.md states their bounds


def _results(function: Function, seed: int) -> list[np.ndarray[Any, Any]]:
    args: list[Any] = arguments(function, seed)
    compile_function(function).run((2, 1, 1), args, ExecutionOptions(mode="single"))
    lists = [array for arg in args if isinstance(arg, list) for array in arg]
    return [arg for arg in args if isinstance(arg, np.ndarray)] + lists


def _same(got: list[Any], want: list[Any], loosely: bool) -> bool:
    return loosely or all((((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(got, want, strict=True))
