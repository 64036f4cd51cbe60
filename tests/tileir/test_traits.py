"""Traits of ops stand on their classes: passes ask for one, and hold no lists of classes that have it."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import tilewright.backend_ptx.ops  # noqa: F401  (declares the machine ops)
from tilewright.tileir.core import OPS, TRAITS, Op, Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.types import TileType

ROOT = Path(__file__).parents[2]


def test_an_unknown_trait_is_named() -> None:
    with pytest.raises(TypeError, match="Wrong: expensive is no trait of ops; there are terminator, elementwise"):
        class Wrong(Op, opcode="wrong_trait", expensive=True):
            """It declares a trait that does not exist."""
    assert "wrong_trait" not in OPS


@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_is_declared_by_an_op(trait: str) -> None:
    assert any(getattr(cls, trait) for cls in OPS.values()) and not getattr(Op, trait)


def test_traits_are_inherited_and_may_be_taken_back() -> None:
    class Ready(Neg, opcode="test_ready", cheap=True):
        """It adds a trait."""

    try:
        src = Value(TileType(float32, (4,)))
        assert Ready(src=src).cheap and Ready(src=src).elementwise and not Neg(src=src).cheap
    finally:
        del OPS["test_ready"]


MOVING = [code for code, cls in OPS.items() if cls.view or cls.rearranges or cls.same_elements]


@pytest.mark.parametrize("opcode", MOVING)
def test_ops_that_move_elements_have_one_tile(opcode: str) -> None:
    """Whoever looks through such an op reads its first operand."""
    first = next(iter(OPS[opcode].fields.values()))
    assert first.name == "src" and first.kind == "operand"


def lists_of_ops(module: Any) -> list[str]:
    """The module's own tuples and sets of op classes."""
    found = []
    for node in ast.parse(inspect.getsource(module)).body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            value = getattr(module, target.id, None) if isinstance(target, ast.Name) else None
            values: list[Any] = list(value) if isinstance(value, tuple | frozenset | set) else []
            if values and all(isinstance(v, type) and issubclass(v, Op) for v in values):
                found.append(f"{module.__name__}.{ast.unparse(target)}")
    return found


def test_no_pass_lists_ops() -> None:
    folder = ROOT / "backend_ptx"
    for path in sorted([*(folder / "passes").rglob("*.py"), *(folder / "resources").rglob("*.py")]):
        where = path.relative_to(folder)
        if path.name != "__init__.py":
            name = ".".join(where.with_suffix("").parts)
            found = lists_of_ops(importlib.import_module(f"tilewright.backend_ptx.{name}"))
            assert not found, f"{found}: declare a trait (TRAITS in tileir/core.py) on these ops, and ask for it"
