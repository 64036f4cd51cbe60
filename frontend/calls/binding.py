"""Binding a call's arguments to parameters, for the language's own functions and for users' helpers alike."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.frontend.advice import on_keyword
from tilewright.tileir.diagnostics import Subject, TileTypeError

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters by kind; `required` are those without a default."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    var_positional: str | None
    var_keyword: str | None
    defaults: Mapping[str, Any]

    @classmethod
    def of(cls, parameters: Sequence[inspect.Parameter]) -> Signature:
        """From `inspect.signature(f).parameters.values()`."""

        def named(kind: Any) -> tuple[str, ...]:
            return tuple(p.name for p in parameters if p.kind is kind)

        kind = inspect.Parameter
        return cls(
            named(kind.POSITIONAL_ONLY), named(kind.POSITIONAL_OR_KEYWORD), named(kind.KEYWORD_ONLY),
            next(iter(named(kind.VAR_POSITIONAL)), None), next(iter(named(kind.VAR_KEYWORD)), None),
            {p.name: p.default for p in parameters if p.default is not _EMPTY},
        )

    def bind(
        self, what: str, args: Sequence[Any], kwargs: Mapping[str, Any], receivers: int = 0
    ) -> dict[str, Any]:
        """Parameter name -> argument (or default); TileTypeError in the words of `what` where they do not fit.

        Of the arguments the first `receivers` stood before the dot of a method call.
        """
        ordered = (*self.positional_only, *self.positional)
        bound: dict[str, Any] = dict(zip(ordered, args, strict=False))
        extra = tuple(args[len(ordered):])
        if extra and self.var_positional is None:
            counts = f"{_count(len(ordered) - receivers, 'positional argument')}, got {len(args) - receivers}"
            raise TileTypeError(f"{what}: takes {counts}", hints=[self._advice(what, args, receivers)])
        if self.var_positional is not None:
            bound[self.var_positional] = extra
        unknown: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in self.positional or name in self.keyword_only:
                if name in bound:
                    raise _of_keyword(name, f'{what}: argument "{name}" is given twice',
                                      [f"call {self.show(what, receivers)}"])
                bound[name] = value
            else:
                unknown[name] = value
        if unknown and self.var_keyword is None:
            raise self._unknown(what, next(iter(unknown)), receivers)
        if self.var_keyword is not None:
            bound[self.var_keyword] = unknown
        for name in (*ordered, *self.keyword_only):
            if name not in bound:
                if name not in self.defaults:
                    raise TileTypeError(f'{what}: argument "{name}" is missing',
                                        hints=[f"call {self.show(what, receivers)}"])
                bound[name] = self.defaults[name]
        return bound

    def _unknown(self, what: str, name: str, receivers: int) -> TileTypeError:
        hints = [*on_keyword(what, name, (*self.positional, *self.keyword_only)), f"call {self.show(what, receivers)}"]
        if name in self.positional_only:
            return _of_keyword(name, f'{what}: argument "{name}" cannot be given by name, only by position', hints)
        return _of_keyword(name, f'{what}: there is no argument "{name}"', hints)

    def _advice(self, what: str, args: Sequence[Any], receivers: int) -> str:
        """What to do about surplus arguments; NumPy's methods take the numbers of a shape one by one."""
        numbers = args[len(self.positional_only) + len(self.positional) - 1:]
        last = (*self.positional_only, *self.positional)[-1:]
        if last in (("shape",), ("axes",)) and all(isinstance(n, int) for n in numbers):
            return f"give them as one tuple: {', '.join(map(str, numbers)).join('()')}"
        return f"call {self.show(what, receivers)}"

    def show(self, what: str, receivers: int = 0) -> str:
        """The signature as a user would read it."""
        ordered = (*self.positional_only, *self.positional)[receivers:]
        optional = [f"{n}=..." if n in self.defaults else n for n in ordered]
        if self.var_positional:
            optional.append(f"*{self.var_positional}")
        optional += [f"{n}=..." for n in self.keyword_only]
        if self.var_keyword:
            optional.append(f"**{self.var_keyword}")
        return f"{what}({', '.join(optional)})"

    def brief(self, what: str) -> str:
        """A call with the arguments that have no default."""
        names = (*self.positional_only, *self.positional)
        required = [n for n in names if n not in self.defaults]
        required += [f"{n}=..." for n in self.keyword_only if n not in self.defaults]
        return f"{what}({', '.join(required)})"

    def positions(self, args: int) -> list[str]:
        """The parameter name of each of `args` positional arguments."""
        ordered = [*self.positional_only, *self.positional]
        return (ordered + [self.var_positional or ""] * max(0, args - len(ordered)))[:args]


def _of_keyword(name: str, message: str, hints: Sequence[str]) -> TileTypeError:
    """An error about an argument given by name; the call underlines it."""
    return TileTypeError(message, hints=hints, subject=Subject(keyword=name))


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"
