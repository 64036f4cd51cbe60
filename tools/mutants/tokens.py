"""Words of machine instructions in texts (comparisons, memory orders, rounding, arithmetic) and what they become."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The first word of a row changes into the second, and the second into the first unless it has a row of its own.
ROWS = (
    "lt le", "gt ge", "slt sle", "sgt sge", "ult ule", "ugt uge", "olt ole", "ogt oge", "eq ne", "oeq une",
    "relaxed acquire", "release relaxed", "acq_rel acquire", "seq_cst acq_rel", "monotonic acquire",
    "cta gpu", "sys gpu", "rn rz", "rz rn", "rp rm", "rm rp", "rna rn", "add sub", "fadd fsub", "mul add", "fmul fadd",
    "shl lshr", "ashr lshr", "lshr ashr", "zext sext", "sext zext", "sdiv udiv", "udiv sdiv", "srem urem", "urem srem",
    "and or", "or and", "xor or", "min max", "minnum maxnum", "smin smax", "umin umax", "smax umax", "umax smax",
    "minimum maximum", "sitofp uitofp", "fptosi fptoui", "s8 u8", "u8 s8", "s32 u32", "u32 s32", "s64 u64",
    "true false", "commit wait", "shared global", "up down", "bfly idx")
PAIRS = [row.split() for row in ROWS]
NEXT = {second: first for first, second in PAIRS} | {first: second for first, second in PAIRS}
DROPPED = (".sat", ".ftz", ".noinc", ".aligned", "volatile ", ".trans", "satfinite", ".relu")
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def changed(text: str) -> Iterator[str]:
    """The text with one of its words changed or dropped. A text of several plain words is for people."""
    if is_prose(text):
        return
    for match in WORD.finditer(text):
        if match[0] in NEXT:
            yield text[:match.start()] + NEXT[match[0]] + text[match.end():]
    for word in DROPPED:
        if word in text:
            yield text.replace(word, "", 1)


def is_prose(text: str) -> bool:
    """Whether a text reads as English: more than two plain words, and none of the marks of an instruction."""
    words = re.findall(r"(?<!\S)[A-Za-z'-]+(?=[\s.,:;]|$)", text)
    return len(words) > 2 and not re.search(r"[%@$;\[{(=]|\bi\d+\b|\.\w|\b(?:half|float|double|ptr|align)\b", text)
