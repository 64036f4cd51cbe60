"""What became of the combinations that another compiler brought to code without spills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.sweep.cases import Case, cases
from benchmarks.sweep.compile import OK, Result

# The rungs that give up what makes a kernel faster and needs registers or memory for it.
EXTRAS = ("MMAs in the order", "reductions combined", "no loop is split", "one block for each", "all warps run",
          "as written")

BACK = "give up what the baseline did not do"
NOT_HAD = "say that a hint is not met, which the baseline did not meet either"
SAME_THREADS = "take as many threads as in the baseline, by a rung"
GONE, SPILLS, FEWER, OTHER = "do not compile", "spill", "run fewer CTAs on an SM than asked", "have other warps"
WORSE = (GONE, SPILLS, FEWER, OTHER)


def compare(results: Sequence[Result], before: Mapping[int, Result]) -> tuple[list[str], bool]:
    """Lines for what compiled without spills and serialised wgmma before, and does not stand as it did; whether
    anything is worse: of these every combination is listed."""
    by_number = {case.number: case for case in cases()}
    found: dict[str, list[Result]] = {}
    clean = 0
    for now in results:
        was = before.get(now.number)
        if was is None or was.status != OK or was.spills or was.serialised:
            continue
        clean += 1
        kind = change(was, now, by_number[now.number])
        if kind is not None:
            found.setdefault(kind, []).append(now)
    lines = [f"{clean} combinations compiled without spills in the baseline; of these"] if before else []
    for kind in (BACK, NOT_HAD, SAME_THREADS, *WORSE):
        lines += [f"  {len(found[kind])} {kind}"] if kind in found else []
        if kind in WORSE:
            lines += [f"    {r.number}: {r.name}: {_words(r)}" for r in found.get(kind, ())]
    return lines, any(kind in found for kind in WORSE)


def change(was: Result, now: Result, case: Case) -> str | None:
    """What a combination that compiled without spills came to; None where nothing was given up."""
    if now.status != OK:
        return GONE
    if now.spills or now.serialised:
        return SPILLS
    if not now.rungs:
        return None
    asked = case.hints.get("occupancy", 1)
    before, after = resident(was), resident(now)
    if min(after, asked) < min(before, asked):
        return FEWER
    rest = [words for words in now.rungs if not words.startswith(EXTRAS)]
    if not rest:
        return BACK
    if before < asked and all(words.startswith("occupancy=") for words in rest):
        return NOT_HAD
    return SAME_THREADS if was.threads == now.threads else OTHER


def resident(result: Result) -> int:
    """CTAs that fit an SM."""
    from tilewright.backend_ptx.targets import get_target
    from tilewright.estimating.occupancy import limits_of

    limits = limits_of(result.registers, result.threads, result.shared_bytes, get_target(result.target))
    return min(limits.values())


def _words(result: Result) -> str:
    if result.status != OK:
        return f"{result.status}: {result.message[:200]}"
    spilled = [f"{result.spills} bytes of spills"] if result.spills else []
    return "; ".join([*result.rungs, *spilled, *result.serialised])
