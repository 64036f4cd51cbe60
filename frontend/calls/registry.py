"""The rules of the language's functions, by name, and how a call's arguments meet their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.frontend.calls.binding import Signature

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class CallRule:
    """`function(translator, *parameters) -> frontend value` and the signature that users see. `what`: how errors call
    it, where that is not the name."""

    name: str
    function: Rule
    signature: Signature
    what: str = ""


RULES: dict[str, CallRule] = {}
"""The rule of every function by its public name; methods stand as "Tile.reshape", "Array.slice"."""

BY_VALUE: dict[Any, str] = {}
"""Python functions that mean the same as a rule: `abs`, `operator.add`, ..."""


def call_rule(name: str, *same: Any) -> Callable[[Rule], Rule]:
    """Register the rule of the function `name`, and of Python functions that mean the same."""

    def register(function: Rule) -> Rule:
        add_rule(name, function, *same)
        return function

    return register


def add_rule(name: str, function: Rule, *same: Any) -> None:
    """Register a rule; its first parameter, the translator, is not part of the user's signature."""
    assert name not in RULES, f"two rules for {name}"
    parameters = list(inspect.signature(function).parameters.values())[1:]
    RULES[name] = CallRule(name, function, Signature.of(parameters))
    for python in same:
        BY_VALUE[python] = name
