"""Kernels with something wrong in their text, and launches with arguments and grids that nobody should give."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import random
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import tilewright as tw
from fuzz.damage import SECONDS, Hang, limited
from fuzz.generate import generate
from fuzz.program import Program
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError
from tilewright.tracebacks import HIDDEN

ODD: tuple[Callable[[random.Random], Any], ...] = (
    lambda r: None,
    lambda r: "text",
    lambda r: 2**70,
    lambda r: -1,
    lambda r: float("nan"),
    lambda r: [],
    lambda r: (),
    lambda r: object(),
    lambda r: 1j,
    lambda r: {},
    lambda r: tw.float32,
    lambda r: len,
    lambda r: b"bytes",
    lambda r: np.zeros((0,), np.float32),
    lambda r: np.zeros((), np.int32),
    lambda r: np.zeros((2,) * 9, np.int8),
    lambda r: np.zeros(8, np.complex64),
    lambda r: np.zeros(8, object),
    lambda r: np.zeros(8, "U3"),
    lambda r: np.zeros(8, "datetime64[s]"),
    lambda r: np.zeros(8, ">f4"),
    lambda r: np.zeros((8, 8), np.float32)[::-2, ::3],
    lambda r: np.broadcast_to(np.float32(1), (8, 8)),
    lambda r: np.zeros(8, np.float32)[::-1],
    lambda r: True,
    lambda r: np.frombuffer(bytes(64), np.float32),
    lambda r: [np.zeros(4, np.int32), np.zeros(4, np.int8)],
    lambda r: np.zeros(33, np.uint8)[1:].view(np.float32),
    lambda r: np.float16(2),
    lambda r: range(3),
    lambda r: [np.zeros(4, np.int32)] * 70,
    lambda r: ((1, 2), (3,)),
    lambda r: np.zeros(1 << 20, np.int64),
)
GRIDS: tuple[Any, ...] = ((1,), (1,), (2,), (0,), (-1,), (1, 1, 1, 1), (), 3, "4", None, (1.5,), (2**40,), (True,), [2])
SNIPPETS = (
    "None",
    "-1",
    "0",
    "1e400",
    "2**100",
    "'a'",
    "ct",
    "ct.int8",
    "()",
    "(3,)",
    "lambda q: q",
    "n",
    "f",
    "xs",
    "kernel",
    "x_int32",
    "ct.bid(7)",
    "[1, 2]",
    "...",
    "x_int32[0]",
    "ct.zeros((3,), ct.int8)",
    "not_there",
    "print",
    "1j",
    "ct.load",
    "ct.PaddingMode.NAN",
    "ct.full((2,), 1, ct.int8)",
    "xs[0]",
    "True",
    "f'{n}'",
    "ct.static_eval(1 // 0)",
)
STATEMENTS = (
    "break",
    "continue",
    "return 3",
    "pass",
    "yield n",
    "await n",
    "import os",
    "global n",
    "del n",
    "raise ValueError",
    "assert n",
    "x_int32[0] = 1",
    "n.real = 2",
    "n, f = f, n",
    "n = xs",
    "try:\n        n = 1\n    finally:\n        pass",
    "class C: pass",
    "with open('x') as q: pass",
    "for q in [1, 2]: pass",
    "while True: pass\n    else: pass",
    "n += 'a'",
    "def h(q=n): return h(q)",
    "ct.static_assert(n)",
    "ct.assert_(n > 0, 'no')",
    "n: int",
    "f @= f",
    "n = (yield)",
    "match n:\n        case 1: pass",
    "(q := 3)",
    "async def h(): pass",
    "nonlocal n",
    "print(xs, kernel, ct)",
)


def kernel(seed: int) -> tuple[str, str]:
    """A kernel with something wrong in its text, or arguments and grids that nobody should give."""
    rng = random.Random(seed)
    program = generate(seed, 4)
    source, arguments, grid = program.source(), program.arguments(), program.grid
    if rng.random() < 0.6:
        source = _wrong_source(rng, source)
    else:
        for _ in range(rng.choice([1, 1, 2])):
            arguments[rng.randrange(len(arguments))] = rng.choice(ODD)(rng)
        grid = rng.choice(GRIDS)
        if rng.random() < 0.1:
            arguments = arguments[:-1] if rng.random() < 0.5 else [*arguments, 1]
    said = f"grid {grid!r}, arguments {[_short(a) for a in arguments]}\n{source}"
    try:
        with limited(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own about the text
            return _launched(source, arguments, grid, seed), ""
    except Hang:
        endless = "while" in source or "for" in source
        return ("endless", "") if endless else ("hang", f"over {SECONDS} s\n{said}")
    except MemoryError:
        return "memory", said
    except Exception:
        return "internal", f"{traceback.format_exc(limit=-6)}\n{said}"


def _short(value: Any) -> str:
    return f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else repr(value)[:40]


def _wrong_source(rng: random.Random, source: str) -> str:
    """Other text in the kernel, in one of ten in its helpers."""
    start, end = source.index(":\n", source.index("def kernel(")) + 2, len(source)
    if rng.random() < 0.1:
        start, end = source.index("def pick("), source.index("@ct.tile_kernel")
    head, body, tail = source[:start], source[start:end], source[end:]
    for _ in range(rng.choice([1, 1, 2])):
        lines = body.splitlines(True)
        k = rng.randrange(len(lines))
        kind = rng.randrange(5)
        if kind == 0:
            indent = lines[k][: len(lines[k]) - len(lines[k].lstrip())]
            lines.insert(k, f"{indent}{rng.choice(STATEMENTS)}\n")
        elif kind == 1:
            del lines[k]
        else:
            pieces = re.findall(r"\w+(?:\.\w+)*|\s+|.", lines[k])
            words = [i for i, w in enumerate(pieces) if re.match(r"\w", w)]
            for _ in range(rng.choice([1, 2]) if words else 0):
                pieces[rng.choice(words)] = rng.choice([*SNIPPETS, rng.choice([pieces[i] for i in words])])
            lines[k] = "".join(pieces)
            lines[k] += "" if lines[k].endswith("\n") else "\n"
        body = "".join(lines) or "    pass\n"
    return head + body + tail


class _Text(Program):
    """A program whose text is given."""

    def __init__(self, seed: int, text: str) -> None:
        super().__init__(seed, (1,), [], [])
        self.text = text

    def source(self) -> str:
        return self.text


def _launched(source: str, arguments: list[Any], grid: Any, seed: int) -> str:
    try:
        made = _Text(seed, source).kernel()
    except (SyntaxError, NameError, ValueError, TileError) as error:
        return f"refused by Python: {type(error).__name__}"
    except Exception as error:
        if not _ours(error) and _last_file(error) != f"<fuzz {seed}>":
            raise
        return f"refused by Python: {type(error).__name__}"
    try:
        with mock.patch.dict(os.environ, TILEWRIGHT_TRACEBACK="full"):  # `_ours` looks at the line that raised
            made[grid](*arguments)
    except TileInternalError:
        raise
    except TileError as error:
        if error.span is NO_SPAN and not error.message.startswith("argument"):
            raise AssertionError(f"an error without a place: {error}") from error
        return f"refused: {type(error).__name__}"
    except (TypeError, ValueError, OverflowError) as error:
        if not _ours(error):
            raise
        return f"refused: {type(error).__name__}"
    return "ran"


def _ours(error: BaseException) -> bool:
    """Whether the error was raised on purpose: by a `raise` in our files, not by Python in the middle of something.

    A public call cuts the traceback of such errors, and of no others.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename == HIDDEN:
        return True
    return "raise" in (last.line or "") or "raise" in _around(last.filename, last.lineno or 0)


def _last_file(error: BaseException) -> str:
    return traceback.extract_tb(error.__traceback__)[-1].filename


def _around(file: str, line: int) -> str:
    return "".join(linecache.getline(file, line - k) for k in range(4))
