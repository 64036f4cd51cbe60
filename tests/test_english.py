"""Comments, docstrings, messages and pages use the field's words: `WORDS` says what is not written, and what is."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A pattern of what is not written, and what is. A trailing `s` and the case do not count.
WORDS = (
    # A round of a loop; numbers are rounded, a round trip is one, and contenders of a benchmark run in rounds.
    (r"(?:each|every|this|the|a|per|first|next|later|earlier|previous|another|some|many|few|of|in|\d+)"
     r" rounds?(?! (?:trip|to|of rounding|half|down|up|toward|or|once|before a|runs each))(?!-)", "iteration"),
    (r"rounds? (?:of a loop|ahead|that|before (?!a conv)|later|early|in flight|have|has|whose)", "iteration"),
    (r"hardware blocks?|blocks? of (?:the machine|the hardware)", "CTA"),
    (r"multiprocessors?", "SM"),
    (r"(?:un)?park(?:s|ed|ing)?", "spill to shared memory, rematerialise"),
    (r"mov(?:e|es|ed|ing) (?:to )?(?:behind|in front of)", "sink below, hoist above"),
    (r"(?:take|takes|taking|took) turns|pass(?:es|ed)? the turn", "ping-pong"),
    (r"exchanges? (?:among|between) (?:all )?(?:warps|threads)", "cross-warp shuffle through shared memory"),
    (r"products? of warpgroups?", "wgmma"),
    (r"(?:matrix )?products? (?:that )?(?:run|runs|end|start|started|wait)", "MMA"),
    (r"the block of a loop", "loop body"),
    (r"numbers? that lanes share", "warp-uniform value"),
    (r"none of (?:a|the) barrier's business|no business of", "needs no CTA barrier"),
    (r"what is called decides", "dispatch on the callee's kind"),
    (r"comes? from far", "misses L2"),
    (r"nobody said", "unspecified"),
    (r"in pieces|stores? pieces", "fragment by fragment, sub-tile by sub-tile"),
    (r"blocks? (?:fit|on|to|for) (?:an|one|each) SM", "CTAs per SM"),
    (r"alive (?:together|at once|at one (?:op|place))", "live"),
    (r"(?:computed|made|computes|makes) (?:it )?again", "rematerialised"),
    (r"(?:wgmma|MMAs?|products?) run on", "outstanding"),
    (r"fetched by (?:a|the) producer|a producer (?:fetches|brings)", "the producer warp issues TMA loads"),
)
BANNED = tuple((re.compile(rf"(?<![\w`.-])(?:{pattern})(?![\w`-])", re.IGNORECASE), write) for pattern, write in WORDS)

FOLDERS = (
    "backend_ptx", "tileir", "frontend", "interp", "dsl", "docs", "benchmarks", "tools", "examples", "README.md",
)


def files() -> list[str]:
    roots = [ROOT / name for name in FOLDERS]
    found = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    return sorted(str(path.relative_to(ROOT)) for path in found if path.suffix in (".py", ".md"))


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that a person reads: comments and strings of Python, the text of a page outside of code."""
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                # A sentence may go on in the next line.
                yield token.start[0], re.sub(r"\s*\n\s*", " ", token.string)
        return
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line)


def found(path: Path) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {match.group(0)!r}: write {write!r}"
        for number, text in prose(path) for pattern, write in BANNED for match in pattern.finditer(text)
    ]


@pytest.mark.parametrize("name", files())
def test_the_words_of_the_field_are_used(name: str) -> None:
    wrong = found(ROOT / name)
    assert not wrong, "\n".join(wrong)


def test_a_banned_word_is_found(tmp_path: Path) -> None:
    assert BANNED[0][0].search("loads of the next round start early")
    assert not BANNED[0][0].search("it rounds to nearest; a round trip; one round-trip")
    assert BANNED[3][0].search("two on a Multiprocessor") and not BANNED[3][0].search("`multiprocessor_count`")
