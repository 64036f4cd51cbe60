"""The state of a compilation is typed: no function holds options by name, and records accept what their fields say."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tilewright.tileir.core import Block, Function, clone_function
from tilewright.tileir.plan import RECORDS, Decision, Hints, Limits, MachinePlan, Role, complaint, read, settings

ROOT = Path(__file__).parents[2]
FOLDERS = "tileir", "frontend", "interp", "backend_ptx", "dsl"
SOURCES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


def by_name(source: str) -> list[str]:
    """Places that read or write `x.options[...]`, `x.options.get(...)` and the like, `x` not being `self`."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source))
            if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.value, ast.Attribute)
            and node.value.attr in ("options", "hints", "switches", "limits", "plan")
            and (isinstance(node, ast.Subscript) or node.attr in ("get", "update", "items", "pop", "setdefault"))]


def test_no_state_is_kept_by_name() -> None:
    assert by_name('f.options["a"] = c.function.hints.get("b")') == ["f.options['a']", "c.function.hints.get"]
    assert len(SOURCES) > 200
    assert {str(p): found for p in SOURCES if (found := by_name(p.read_text()))} == {}


def test_a_function_holds_typed_records_only() -> None:
    function = Function("k", Block())
    assert not hasattr(function, "options") and not hasattr(function, "__dict__")
    for name, kind in RECORDS.items():
        record = getattr(function, name)
        assert type(record) is kind and not hasattr(record, "__dict__") and settings(record) == {}


def test_a_clone_has_a_plan_of_its_own() -> None:
    function = Function("k", Block(), Hints(occupancy=2))
    copy = clone_function(function)
    copy.plan.warps = 8
    copy.decisions.append(Decision("num_warps", 8))
    assert (function.plan.warps, function.decisions, copy.hints) == (0, [], Hints(occupancy=2))


@pytest.mark.parametrize(("kind", "name", "value", "fits"), [
    (Hints, "occupancy", 2, True), (Hints, "occupancy", None, True), (Hints, "occupancy", True, False),
    (Hints, "opt_level", None, False), (Limits, "allow_cluster", False, True), (Limits, "allow_cluster", 0, False),
    (Limits, "matrix_unit", "mma.sync", True), (Limits, "matrix_unit", 1, False),
    (MachinePlan, "stages", (4, 2), True), (MachinePlan, "stages", 4, False), (MachinePlan, "cluster", 0, False),
    (MachinePlan, "roles", (("one", 4, 40), ("other", 1, None)), True), (MachinePlan, "roles", (("one",),), False),
    (MachinePlan, "warp", 4, False),
])
def test_fields_take_what_they_are_declared_as(kind: type[Any], name: str, value: Any, fits: bool) -> None:
    assert (complaint(kind, name, value) is None) == fits
    if fits:
        assert getattr(read(kind, {name: value}), name) == value


def test_roles_by_name() -> None:
    plan = MachinePlan(roles=(Role("consumer", 8, 232), Role("producer", 4, 40)))
    assert plan.role("producer") == ("producer", 4, 40) and plan.role("other") is None
