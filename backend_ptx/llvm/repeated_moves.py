"""Registers that LLVM sets twice. What a loop carries starts as numbers which stand in front of the branch around the
loop, for what follows there, and once more behind it: 128 registers of an accumulator cost ptxas 6 percent of its time.
"""

from __future__ import annotations

import re

_MOVE = re.compile(r"\tmov\.\w+ \t(%\w+), (\S+);")
_SET = re.compile(r"\tmov\.\w+ \t(%\w+), ")
_REGISTER = re.compile(r"%\w+")


def without_repeats(ptx: str) -> str:
    """The PTX without moves of numbers to registers that hold them already."""
    parts = ptx.replace("\n$L", "\n\0$L").split("\0")  # nobody comes from elsewhere between two labels
    return "".join([_once(part) if part.count("\tmov.") > 32 and "\t@%p" in part else part for part in parts])


def _once(part: str) -> str:
    registers = _SET.findall(part)
    if len(registers) == len(set(registers)):  # most parts set each register once
        return part
    held: dict[str, str] = {}
    return "".join([line for line in part.splitlines(True) if not _repeats(line, held)])


def _repeats(line: str, held: dict[str, str]) -> bool:
    """Whether a line moves a number to a register that holds it; `held` is what registers hold, then behind it."""
    move = _MOVE.match(line)
    if move is None:
        for register in _REGISTER.findall(line):
            held.pop(register, None)
        return False
    register, source = move.groups()
    number = held.get(source, "") if source[0] == "%" else source
    known = number != "" and held.get(register) == number
    held[register] = number
    return known
