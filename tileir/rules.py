"""Tables of rules by class of op: what an op means to an executor, a backend, an analysis or a pass.

    HANDLERS: RuleTable[Handler] = RuleTable("handler in the interpreter")

    @HANDLERS.register(arith.Add)
    def add(op, ...): ...

    HANDLERS.of(op)                     # the rule of the op's class, or of its nearest base class that has one; or None
    HANDLERS.missing(OPS.values())      # the ops that have none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

from tilewright.tileir.core import Op

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Key = type[Op] | str
"""An op's class, an abstract base (the rule then holds for every op below it), or an opcode, by which a package names
the ops of another that it may not import."""


def _key(op: Key) -> Key:
    return op if isinstance(op, str) else op.opcode or op


_KEYS: dict[type[Op], tuple[Key, ...]] = {}


def _keys(cls: type[Op]) -> tuple[Key, ...]:
    """Under which keys the rule of a class may stand, the nearest first. Kept, because `rewrite` makes many tables."""
    known = _KEYS.get(cls)
    if known is None:
        known = _KEYS[cls] = tuple(_key(base) for base in cls.__mro__ if issubclass(base, Op))
    return known


class RuleTable(MutableMapping[Key, R], Generic[R]):
    """At most one rule for each class. `what` names a rule in errors: "lowering", "handler in the interpreter"."""

    def __init__(self, what: str, rules: Mapping[type[Op], R] | None = None) -> None:
        self.what = what
        self._rules: dict[Key, R] = {_key(op): rule for op, rule in (rules or {}).items()}
        self._found: dict[type[Op], R | None] = {}

    def of(self, op: Op) -> R | None:
        """The rule for an op: that of its class or of the nearest base class with one."""
        try:
            return self._found[type(op)]
        except KeyError:
            found = self._found[type(op)] = self.of_class(type(op))
            return found

    def of_class(self, cls: type[Op]) -> R | None:
        """The rule for the ops of a class."""
        for key in _keys(cls):
            if key in self._rules:
                return self._rules[key]
        return None

    def register(self, *ops: Key) -> Callable[[F], F]:
        """Decorator: this function is the rule of these ops."""

        def register(function: F) -> F:
            for op in ops:
                self.add(op, function)  # type: ignore[arg-type]
            return function

        return register

    def add(self, op: Key, rule: R) -> None:
        """Give an op its rule; it must not have one."""
        assert _key(op) not in self._rules, f"{_key(op)} has two rules ({self.what})"
        self[op] = rule

    def missing(self, ops: Iterable[type[Op]]) -> list[str]:
        """The opcodes of those ops that have no rule. Terminators need none: they are part of the op around them."""
        return sorted(cls.opcode for cls in ops if cls.opcode and not cls.terminator and self.of_class(cls) is None)

    def __getitem__(self, op: Key) -> R:
        return self._rules[_key(op)]

    def __setitem__(self, op: Key, rule: R) -> None:
        self._rules[_key(op)] = rule
        self._found.clear()

    def __delitem__(self, op: Key) -> None:
        del self._rules[_key(op)]
        self._found.clear()

    def __contains__(self, op: object) -> bool:
        return (op if isinstance(op, str) else getattr(op, "opcode", "") or op) in self._rules

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)
