"""Frozen records: what `dataclass(frozen=True, slots=True)` makes, in half of the time.

A process that finds its kernel in the cache makes some forty such classes before its first launch, and `dataclass`
compiles each of their methods by itself, which took a fifth of what Python does until then. Here one text has them all.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


class _Made:
    """The default of a field that a factory makes, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """The class as a frozen one with slots, with `__init__`, `__eq__`, `__hash__` and `__repr__` by its fields where it
    has none of its own. It counts as a dataclass: `fields` and `replace` take it."""
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    given = fields(made)
    names: dict[str, Any] = {"put": object.__setattr__, "MADE": _MADE}
    for f in given:
        names[f"default_{f.name}"] = f.default if f.default_factory is MISSING else f.default_factory
    exec(_methods(given, hasattr(made, "__post_init__")), names)
    names["__init__"].__annotations__ = {**{f.name: f.type for f in given}, "return": None}
    for name in ("__init__", "__eq__", "__hash__", "__repr__"):
        if made.__dict__.get(name) is None:  # __hash__ is None beside an __eq__ of its own
            names[name].__qualname__ = f"{made.__qualname__}.{name}"
            setattr(made, name, names[name])
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    made.__getstate__, made.__setstate__ = _state, _set_state
    made.__dataclass_params__.frozen = made.__dataclass_params__.eq = True
    return made  # type: ignore[no-any-return]


def _methods(given: tuple[Field[Any], ...], then: bool) -> str:
    """The methods as Python; `then`: `__init__` ends with `__post_init__`."""
    params, body = ["self"], list[str]()
    for f in given:
        made = f.default_factory is not MISSING
        default = "=MADE" if made else "" if f.default is MISSING else f"=default_{f.name}"
        params.append(f.name + default)
        value = f"default_{f.name}() if {f.name} is MADE else {f.name}" if made else f.name
        body.append(f" put(self, {f.name!r}, {value})")
    if then or not body:
        body.append(" self.__post_init__()" if then else " pass")
    mine, theirs = (f"({''.join(f'{who}.{f.name}, ' for f in given if f.compare)})" for who in ("self", "other"))
    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in given)
    return "\n".join([
        f"def __init__({', '.join(params)}):", *body,
        "def __eq__(self, other):",
        f" return {mine} == {theirs} if other.__class__ is self.__class__ else NotImplemented",
        "def __hash__(self):", f" return hash({mine})",
        "def __repr__(self):", f' return self.__class__.__qualname__ + f"({shown})"'])


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
