"""Defects put into compiled code: calls dropped or given other operands, other numbers in descriptors."""

from __future__ import annotations

import re
from collections.abc import Callable


def calls(text: str, part: str) -> list[re.Match[str]]:
    """The lines that execute inline assembly with `part` in its text; group 1 is the list of operands."""
    return list(re.finditer(rf'^.* asm .*{re.escape(part)}.*"\(([^"\n]*)\)[^()"\n]*$', text, re.M))


def one_call(text: str, part: str, which: int) -> re.Match[str]:
    """One of them, by number."""
    found = calls(text, part)
    assert len(found) > which >= -len(found), f"{len(found)} calls of {part}"
    return found[which]


def drop(text: str, part: str, which: int = 0) -> str:
    """Without that call. One through which registers pass becomes a wait for nothing."""
    match = one_call(text, part, which)
    line = match.group(0)
    idle = ""
    if " = call" in line:
        idle = re.sub(r"wgmma\.(fence|wait_group)\.sync\.aligned( \d)?", "wgmma.wait_group.sync.aligned 7", line)
        assert idle != line, line
    return text[: match.start()] + idle + text[match.end() :]


def operand(text: str, part: str, position: int, by: str, which: int = 0) -> str:
    """That call with another operand: `by` is an instruction whose OLD is the present one, or a constant."""
    match = one_call(text, part, which)
    given = match.group(1).split(", ")
    kind, _, old = given[position].rpartition(" ")
    made = "" if " " not in by else f"  %changed = {by.replace('OLD', old)}\n"
    given[position] = f"{kind} {'%changed' if made else by}"
    line = match.group(0).replace(f"({match.group(1)})", f"({', '.join(given)})")
    return text[: match.start()] + made + line + text[match.end() :]


def pattern(text: str, old: str, new: str, which: int = 0) -> str:
    """One match of a regular expression, by number, replaced."""
    found = list(re.finditer(old, text, re.M))
    assert found, f"nothing matches {old}"
    match = found[which]
    return text[: match.start()] + match.expand(new) + text[match.end() :]


# Fields of a matrix descriptor: lowest bit, width. Of the two descriptors of a product, B's is made first.
STRIDE, LEADING, SWIZZLE = (32, 14), (16, 14), (62, 2)
OF_B, OF_A = 0, 1


def descriptor(text: str, field: tuple[int, int], change: Callable[[int], int], which: int) -> str:
    """Another value in a field of a matrix descriptor (a constant that names a swizzle)."""
    low, bits = field
    found = [m for m in re.finditer(r"or i64 %\w+, (-?\d+)$", text, re.M) if int(m[1]) >> 62 & 3]
    match = found[which]
    value = int(match[1]) & (1 << 64) - 1
    mask = (1 << bits) - 1
    value = value & ~(mask << low) | (change(value >> low & mask) & mask) << low
    value -= (value >> 63) << 64
    return text[: match.start(1)] + str(value) + text[match.end(1) :]
