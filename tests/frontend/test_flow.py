"""Liveness of names, and what it costs."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tilewright.frontend.flow import Flow


def flow(text: str) -> tuple[Flow, ast.FunctionDef]:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return Flow(node), node


@pytest.mark.parametrize("head", ["for i{0} in range(3):", "while a:"])
def test_a_statement_is_visited_thrice_however_deep_it_stands(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level doubled the visits: 19 levels took 20 s. CPython admits 20 blocks; syntax trees may be deeper."""
    visits = 0
    visit = Flow._stmt

    def counted(self: Flow, *args: Any) -> Any:
        nonlocal visits
        visits += 1
        return visit(self, *args)

    monkeypatch.setattr(Flow, "_stmt", counted)
    depth = 60
    lines = [" " * (k + 1) + head.format(k) for k in range(depth)]
    flow("def f(a, b):\n" + "\n".join(lines) + "\n" + " " * (depth + 1) + "b = a + b\n return b\n")
    assert visits <= 3 * (depth + 2)


def test_a_loop_reads_what_its_next_iteration_reads() -> None:
    text = """
def f(n, x, y, z):
    for i in range(n):
        while x:
            z = y
            if z:
                y = i
                break
        x = z
    return x
"""
    found, node = flow(text.lstrip())
    outer = node.body[0]
    assert isinstance(outer, ast.For)
    inner = outer.body[0]
    assert found.head[outer] == {"x", "y", "z"} and found.head[inner] == {"x", "y", "z", "i"}
    assert found.after[inner] == {"y", "z"} and found.after[outer] == {"x"}
    assert found.assigned[outer] == {"x", "y", "z", "i"}


def test_an_endless_loop_passes_on_only_what_leaves_by_break() -> None:
    found, node = flow("def f(a, b, c, d):\n while True:\n  b = c\n  if a:\n   break\n  d = b\n return b\n")
    assert found.head[node.body[0]] == {"a", "c"}  # neither b, which is assigned first, nor d, which nobody reads
