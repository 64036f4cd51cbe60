"""Analyses belong to the unit that passes run on: found once, forgotten after a change, and asked for nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tileir.texts import LOADS_IN_A_LOOP as TEXT

from tilewright.tileir.analysis.unit import ALL, NONE, Analysis, Preserved, Unit
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Add, Compare, Constant, Mul
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.manager import PassManager
from tilewright.tileir.types import TileType

ROOT = Path(__file__).parents[2]


def unit() -> Unit:
    return Unit(parse(TEXT))


def ask(asked: Unit) -> list[object]:
    return [getattr(asked, analysis.value) for analysis in Analysis]


def test_an_analysis_is_found_once() -> None:
    asked = unit()
    assert all(a is b for a, b in zip(ask(asked), ask(asked), strict=True))
    one = asked.function.body.ops[0].result
    assert len(asked.uses[one]) == 3 and asked.facts[one].constant == 1
    assert [op.opcode for op in asked.parents.values()] == ["for"]
    [loop] = asked.parents.values()
    load = loop.blocks[0].ops[0]
    assert asked.homes[load] is loop.blocks[0] and asked.around(load) == [loop] and asked.around(loop) == []
    assert asked.has(Add, Mul) and not asked.has(Mul) and not asked.has(Compare)


@pytest.mark.parametrize("kept", [NONE, ALL, frozenset({Analysis.FACTS})])
def test_only_what_a_pass_preserves_is_known_after_it(kept: Preserved) -> None:
    asked = unit()
    before = dict(zip(Analysis, ask(asked), strict=True))
    PassManager[Unit]((lambda u: kept,), (), lambda u: None).run(asked, verify=False)
    after = dict(zip(Analysis, ask(asked), strict=True))
    assert {a for a in Analysis if after[a] is before[a]} == kept


def test_a_change_is_seen_after_forgetting() -> None:
    asked = unit()
    ask(asked)
    one = asked.function.body.ops[0].result
    asked.function.body.ops.insert(1, Mul(lhs=one, rhs=one))
    assert asked.stale(ALL) == ["uses", "homes", "facts", "kinds"] and asked.stale(NONE) == []
    assert not asked.has(Mul)
    asked.forget()
    assert asked.has(Mul) and len(asked.uses[one]) == 5 and asked.stale(ALL) == []
    asked.function.body.ops.insert(0, Constant(value=2, type=TileType(int32)))
    assert asked.stale(frozenset({Analysis.KINDS})) == []


def test_passes_ask_the_unit() -> None:
    """No pass computes for itself what its unit may know already."""
    own = re.compile(r"(?<!def )(?<![\w.])(uses|facts|parents|homes|runs|Dependences)\(")
    assert own.search("users = uses(function)") and not own.search("users = c.uses")
    sources = [p for folder in ("backend_ptx/passes", "tileir/passes") for p in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 40
    assert [str(p.relative_to(ROOT)) for p in sources if own.search(p.read_text())] == []
