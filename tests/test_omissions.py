"""Nothing of an op or a function is forgotten; and each piece that could be is named by a sentence that says where."""

from __future__ import annotations

from collections.abc import Callable

import language_evidence
import language_table
import pytest
from support.omissions import omissions

import tilewright as ct
from tilewright.backend_ptx.lower.reduce import COMBINERS
from tilewright.backend_ptx.lower.registry import LOWERINGS
from tilewright.frontend.calls.registry import RULES
from tilewright.interp.lowering import HANDLERS
from tilewright.tileir.core import OPS
from tilewright.tileir.derivatives.rules import ADJOINTS
from tilewright.tileir.ops.reduce import REDUCTIONS, Reduction


def test_nothing_is_omitted() -> None:
    assert omissions() == []


def test_a_reduction_without_a_kind_is_refused() -> None:
    with pytest.raises(TypeError, match='Forgetful: a reduction declares its kind, as in kind="sum"'):
        class Forgetful(Reduction, opcode="reduce_forgetful"):
            """It declares none."""
    with pytest.raises(TypeError, match="Again: ReduceSum has the kind 'sum' already"):
        class Again(Reduction, opcode="reduce_again", kind="sum"):
            """It declares another's."""
    assert not {"reduce_forgetful", "reduce_again"} & OPS.keys() and REDUCTIONS["sum"].__name__ == "ReduceSum"


def no_handler(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(HANDLERS, "reduce_prod")


def no_lowering(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(LOWERINGS, "permute")


def no_combination(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(COMBINERS, "reduce_prod")


def no_adjoint(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(ADJOINTS, "permute")


def no_cell(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(language_evidence.cells(), "prod")


def no_row(patch: pytest.MonkeyPatch) -> None:
    part = "reductions and scans"
    patch.setitem(language_table.CONTRACT, part, language_table.CONTRACT[part].replace(" prod ", " "))


def no_stub(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ct.language, "__all__", [name for name in ct.language.__all__ if name != "prod"])


def no_rule(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(RULES, "prod")


SEEDED: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (no_handler, "reduce_prod has no handler in the interpreter: write it in interp/handlers/reduce.py"),
    (no_lowering, "permute has no lowering: write it, or refuse the op, in backend_ptx/lower/shape.py"),
    (no_combination, "reduce_prod has no lowering: COMBINERS in backend_ptx/lower/reduce.py lacks how two fragments "
                     "become one"),
    (no_adjoint, "permute has no adjoint: write it in tileir/derivatives/shape.py, or the reason in "
                 "tileir/derivatives/refused.py"),
    (no_cell, "prod has no executed cell: add it to tests/catalogue/cells/"),
    (no_row, "prod has no row in the contract: add it to CONTRACT in tools/language_table.py"),
    (no_stub, "prod has no stub: write it in dsl/language/ and add it to __all__ there and in the package's list"),
    (no_rule, "prod has a stub and no rule: write it in frontend/calls/"),
]


@pytest.mark.parametrize("seed, sentence", SEEDED, ids=[seed.__name__ for seed, _ in SEEDED])
def test_a_seeded_omission_is_named(
    seed: Callable[[pytest.MonkeyPatch], None], sentence: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = omissions()
    seed(monkeypatch)
    assert [found for found in omissions() if found not in before] == [sentence]
