"""Random Tile IR, from the generator of the tests: text, passes of both halves, and modes keep every bit."""

from __future__ import annotations

import contextlib
import itertools
import traceback
from typing import Any

import numpy as np
from support.tileir.programs import arguments, random_function

import tilewright.backend_ptx.ops  # noqa: F401
from fuzz.oracles import EVERY_PASS, TARGETS
from tilewright.backend_ptx.compile import backend_dumps
from tilewright.backend_ptx.pipeline import PIPELINE
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

# docs/architecture.md states their bounds.
REASSOCIATES = frozenset({"defer_reductions", "split_reductions", "split_mmas"})
NAMES = [step.__name__ for step in PIPELINE]
BEFORE = frozenset(name for name, following in itertools.pairwise(NAMES) if following in REASSOCIATES)
Results = list[np.ndarray[Any, Any]]


class Changed(Exception):
    """A result is not what it was."""


def check_function(seed: int) -> tuple[str, str]:
    """The outcome of a seed's function, and what is wrong with it."""
    function = random_function(seed, 5 + seed % 41)
    try:
        _check(function, seed)
    except Changed as error:
        return "mismatch", f"{error}\n{to_text(function)}"
    except Exception:
        return "mismatch", f"{traceback.format_exc(limit=-8)}\n{to_text(function)}"
    return "equal", ""


def _check(function: Function, seed: int) -> None:
    verify(function)
    text = to_text(function)
    states = States(function, seed)
    parsed = parse(text)
    if to_text(parsed) != text:
        raise Changed("prints differently after parsing")
    states.compare("text", parsed)
    try:
        _pipelines(states, function, seed % EVERY_PASS == 0)
    except Changed:
        _pipelines(States(function, seed), function, True)  # names the pass
        raise


def _pipelines(states: States, function: Function, every: bool) -> None:
    now = clone_function(function)
    run_pipeline(now, verify=every, observer=states.every if every else None)
    states.compare("the end of the pipeline", now)
    with contextlib.suppress(TileUnsupportedFeatureError):
        observer = states.every if every else states.around_reassociation
        machine = backend_dumps(now, TARGETS[states.seed % len(TARGETS)], observer)
        states.compare("the end of the backend", machine)


class States:
    """A function along the passes, and the results that it shall have."""

    def __init__(self, function: Function, seed: int) -> None:
        self.seed, self.text = seed, to_text(function)
        self.want = self.results(function)

    def results(self, function: Function) -> Results:
        args: list[Any] = arguments(function, self.seed)
        compile_function(function).run((2, 1, 1), args, ExecutionOptions(mode="single"))
        lists = [array for arg in args if isinstance(arg, list) for array in arg]
        return [arg for arg in args if isinstance(arg, np.ndarray)] + lists

    def compare(self, name: str, function: Function) -> None:
        got = self.results(function)
        if not all((((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(got, self.want, strict=True)):
            raise Changed(f"{name} changes a result")

    def every(self, name: str, now: Function) -> None:
        """After each pass."""
        before, self.text = self.text, to_text(now)
        if self.text == before:
            return
        function = parse(self.text)
        if name in REASSOCIATES:
            self.want = self.results(function)
        else:
            self.compare(name, function)

    def around_reassociation(self, name: str, now: Function) -> None:
        """In front of a pass that changes the order of sums, and what holds from there on."""
        if name in BEFORE:
            self.text = to_text(now)
        elif name in REASSOCIATES and to_text(now) != self.text:
            self.compare(f"before {name}", parse(self.text))
            self.want = self.results(now)
