"""How much is proved of the catalogue: CI takes a few kernels, `make prove-catalogue` all, and prints what is open."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from catalogue.all import one_per_kernel
from catalogue.case import Case

from tilewright.inspecting.proof import prove_kernel

pytest.importorskip("z3")
THOROUGH = "TILEWRIGHT_THOROUGH" in os.environ
BOUNDS, RACES = 0.7, 0.6


def chosen() -> list[Case]:
    cases = one_per_kernel()
    return list(cases if THOROUGH else cases[::90])


def test_most_accesses_are_proved(capsys: pytest.CaptureFixture[str]) -> None:
    proved = total = free = 0
    open_: Counter[str] = Counter()
    for case in chosen():
        proof = prove_kernel(case.kernel, case.args(), case.grid)
        proved, total = proved + proof.in_bounds[0], total + proof.in_bounds[1]
        free += proof.race_free
        open_.update(_why(case.name, v) for v in proof.verdicts if v.status != "proved")
    with capsys.disabled():
        if THOROUGH:
            print(f"\n{proved} of {total} accesses in bounds, {free} of {len(chosen())} kernels without races; open:")
            print(*(f"{count:5} {what}" for what, count in open_.most_common()), sep="\n")
    assert proved >= BOUNDS * total and free >= RACES * len(chosen())


def _why(name: str, verdict: Any) -> str:
    return f"{name}, line {verdict.span.line}: {verdict.kind} {verdict.status}: {verdict.reason or verdict.what}"
