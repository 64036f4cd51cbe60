"""Mutants of Tile IR: a text is refused with a place, is refused by the verifier, or runs and passes all passes."""

from __future__ import annotations

import functools
import random
import re
import traceback
from typing import Any

import numpy as np

from fuzz.damage import NUMBERS, ROOT, SECONDS, Hang, damaged, limited
from fuzz.generate import generate
from fuzz.program import NUMPY
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text
from tilewright.tileir.types import ArrayType, ListType


@functools.cache
def corpus() -> tuple[str, ...]:
    """Texts to start from: the goldens of passes, random functions, dumps of the backend."""
    from support.tileir.programs import random_function

    from tilewright.backend_ptx.compile import backend_dumps

    out = [
        part
        for path in sorted((ROOT / "tests").glob("*/passes/**/*.tile"))
        for part in path.read_text().split("// ----- after\n")
    ]
    out += [to_text(random_function(seed, 12)) for seed in range(30)]
    for seed in range(6):
        program = generate(seed, 5)
        function = program.kernel().lower(*program.arguments(), target="sm_90a").tile_ir(passes=False)
        backend_dumps(function, ("sm_80", "sm_90a")[seed % 2], lambda name, now: out.append(to_text(now)))
    return tuple(text for text in out if len(text) < 20_000)


@functools.cache
def opcodes() -> tuple[str, ...]:
    from tilewright.tileir.core import OPS

    return tuple(OPS)


def misused(rng: random.Random, text: str, words: list[str]) -> str:
    """One or two words of one line put for others of their kind, so that most mutants come past the parser."""
    lines = text.splitlines(True)
    body = [k for k, line in enumerate(lines) if line.startswith("  ")]
    for _ in range(rng.choice([1, 1, 2])):
        k = rng.choice(body)
        kind, instead = rng.choice([
            (r"(?<=[=(, ])%\w+(?=[,)])", re.findall(r"%\w+(?=:)", "".join(lines[:k]))),
            (r"(?<=[=(, ])-?\d+(?=[,)])", [w for w in NUMBERS if w.lstrip("-").isdigit()]),
            (r"\b[a-z]\w*(?=\()", opcodes()),
            (r"\b[a-z]+\d+\b(?=[,>)])", ["f16", "bf16", "f32", "f64", "i8", "i32", "u32", "i64", "i1", "tf32", "e4m3"]),
            (r"\"\w+\"", re.findall(r"\"\w+\"", text)),
            (r"(?<=\w=)[a-z]\w*", words),
            (r"tile<[^>]*>", re.findall(r"tile<[^>,]*>", text)),
            (r"(?<==)\([-\d, ]*\)", re.findall(r"(?<==)\([-\d, ]*\)", text)),
        ])
        found = list(re.finditer(kind, lines[k]))
        if found and instead:
            where = rng.choice(found)
            lines[k] = lines[k][: where.start()] + rng.choice(instead) + lines[k][where.end() :]
    return "".join(lines)


def tile(seed: int) -> tuple[str, str]:
    """A mutant of Tile IR: parsed, verified, run, and where it is well formed taken through the passes."""
    rng = random.Random(seed)
    text = rng.choice(corpus())
    words = [
        *NUMBERS,
        *(w for w in re.findall(r"\w+", text)),
        rng.choice(opcodes()),
        "f16",
        "e4m3",
        "i1",
        "u64",
        "tile<3xf32>",
    ]
    text = damaged(rng, text, words) if rng.random() < 0.4 else misused(rng, text, words)
    stage = ["parse"]
    try:
        with limited():
            return _through(text, stage), ""
    except Hang:
        # A loop that was made endless is what the mutant says.
        endless = stage[0] == "run" and ("while" in text or "for(" in text)
        return ("endless", "") if endless else ("hang", f"{stage[0]} takes over {SECONDS} s\n{text}")
    except MemoryError:
        return "memory", f"{stage[0]} wants too much memory\n{text}"
    except Exception:
        return "internal", f"{stage[0]}: {traceback.format_exc(limit=-6)}\n{text}"


def _through(text: str, stage: list[str]) -> str:
    from tilewright.tileir.passes import run_pipeline
    from tilewright.tileir.verifier import verify

    try:
        function = parse(text, "mutant.tile")
    except TileInternalError:
        raise
    except TileError as error:
        if error.span is NO_SPAN:
            raise AssertionError(f"an error without a place: {error}") from error
        return "refused by the parser"
    stage[0] = "verify"
    try:
        verify(function)
    except TileInternalError as error:
        if "malformed" not in error.message and "does not end" not in error.message:
            raise
        return "refused by the verifier"
    stage[0] = "print"
    to_text(function)
    stage[0] = "run"
    outcome = _executed(function)
    stage[0] = "passes"
    run_pipeline(parse(text), verify=True)
    return outcome


def _executed(function: Function) -> str:
    from tilewright.interp import ExecutionOptions, compile_function

    args = [_value(p) for p in function.params]
    if any(a is None for a in args):
        return "not run: no arguments of these types"
    try:
        compile_function(function).run((2, 1, 1), args, ExecutionOptions(mode="single"))
    except TileInternalError:
        raise
    except TileError as error:
        return f"refused by the interpreter: {type(error).__name__}"
    return "ran"


def _value(param: Value) -> Any:
    type_ = param.type
    if isinstance(type_, ListType):
        items = [_array(type_.element) for _ in range(2)]
        return None if items[0] is None else items
    if isinstance(type_, ArrayType):
        return _array(type_)
    if getattr(type_, "shape", None) != ():
        return None
    return np.ones((), _numpy(type_.dtype.name))[()]


def _numpy(name: str) -> Any:
    return np.dtype(NUMPY.get(name, name if hasattr(np, name) else "u1"))


def _array(type_: ArrayType) -> Any:
    """An array that has what the type says is known, None where a small one in C order cannot."""
    extents = [16 if n is None else n for n in type_.extents]
    steps: list[int] = []
    step = 1
    for n in reversed(extents):
        steps.insert(0, step)
        step *= max(n, 1)
    known = all(k is None or k == s for k, s in zip(type_.strides, steps, strict=True))
    fits = all(n % d == 0 for n, d in zip((*extents, *steps), (*type_.extent_div, *type_.stride_div), strict=True))
    if not known or not fits or step > 1 << 16 or not (hasattr(np, type_.dtype.name) or type_.dtype.name in NUMPY):
        return None
    return np.ones(extents, _numpy(type_.dtype.name))
