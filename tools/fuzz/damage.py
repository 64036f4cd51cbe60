"""What mutants share: limits of time, and damage to text."""

from __future__ import annotations

import contextlib
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS, WAITING = 5, 30  # of the processor, and on the clock, which also passes where the machine has other work
NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "255",
    "2147483647",
    "-2147483648",
    "4294967296",
    "99999999999999999999",
    "inf",
    "-inf",
    "nan",
    "0x1.8p+0",
    "0x1.0p+1023",
    "true",
    "false",
    "?",
    '""',
    "()",
    "none",
)
TOKEN = re.compile(r"%\w+|\"[^\"]*\"|-?0x[\w.+-]+|-?\d+|\w+|\s+|.", re.DOTALL)


class Hang(BaseException):
    """A mutant took longer than SECONDS, or waited longer than WAITING."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise Hang

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, WAITING))
    for number, timer, seconds in timers:
        signal.signal(number, stop)
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)


def damaged(rng: random.Random, text: str, words: list[str]) -> str:
    """One to four changes of tokens or lines."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        tokens, lines = TOKEN.findall(text), text.splitlines(True)
        k, line = rng.randrange(len(tokens)), rng.randrange(len(lines))
        kind = rng.randrange(10)
        if kind < 3:
            alike = [t for t in tokens if t[:1] == tokens[k][:1]] if tokens[k][:1] in '%"' else words
            tokens[k] = rng.choice(alike or words)
        elif kind == 3:
            numbers = [i for i, t in enumerate(tokens) if re.match(r"-?\d", t)]
            tokens[rng.choice(numbers or [k])] = rng.choice(NUMBERS)
        elif kind == 4:
            del tokens[k : k + rng.choice([1, 1, 3])]
        elif kind == 5:
            tokens.insert(
                k, rng.choice([tokens[rng.randrange(len(tokens))], chr(rng.randrange(1, 0x3000)), "(" * 2000])
            )
        elif kind == 6:
            tokens = lines[:line] + lines[line + 1 :]
        elif kind == 7:
            tokens = [*lines[:line], lines[rng.randrange(len(lines))], *lines[line:]]
        elif kind == 8:
            other = rng.randrange(len(lines))
            lines[line], lines[other] = lines[other], lines[line]
            tokens = lines
        else:
            tokens = tokens[:k]
        text = "".join(tokens) or " "
    return text
