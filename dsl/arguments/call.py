"""The call of a kernel as Python sees it: keyword arguments and defaults become one tuple, by position."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class CallSignature:
    """The parameters of one kernel: their names, kinds and defaults."""

    def __init__(self, parameters: Sequence[inspect.Parameter], kernel: str) -> None:
        self._kernel = kernel
        self._parameters = list(parameters)
        self._positional = sum(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in self._parameters)
        self._names = [p.name for p in self._parameters if p.kind is not inspect.Parameter.POSITIONAL_ONLY]
        # *args and **kwargs: the frontend refuses such a kernel, whatever its arguments.
        self._starred = any(p.kind in _STARRED for p in self._parameters)
        self.keyword_only = not self._starred and self._positional < len(self._parameters)

    def check_count(self, args: Sequence[Any]) -> None:
        """TypeError unless there is one value for each parameter."""
        if not self._starred and len(args) != len(self._parameters):
            raise self._wrong_count(args, "; a launch by tuple gives all of them, also those that have a default"
                                    if len(args) < len(self._parameters) else "")

    def split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Values of all parameters, in their order, as a call gives them: by position, and those behind * by name."""
        if not self.keyword_only:
            return args, {}
        names = (p.name for p in self._parameters[self._positional:])
        return args[:self._positional], dict(zip(names, args[self._positional:], strict=True))

    def complete(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """One value for each parameter, in their order. TypeError where they do not fit, as of a Python call."""
        if self._starred:
            return tuple(args)
        if len(args) > self._positional:
            raise self._wrong_count(args, "; those behind * are given by name" if self.keyword_only else "")
        for name in named:
            if name not in self._names:
                raise self._unknown(name)
        out = list(args)
        for position, parameter in enumerate(self._parameters):
            if position < len(args):
                if parameter.name in named:
                    raise TypeError(f"kernel {self._kernel}: {parameter.name!r} is given twice, by position and by "
                                    "name")
            elif parameter.name in named:
                out.append(named[parameter.name])
            elif parameter.default is not inspect.Parameter.empty:
                out.append(parameter.default)
            elif named or self.keyword_only:
                raise TypeError(f"kernel {self._kernel}: {parameter.name!r} is missing")
            else:
                raise self._wrong_count(args, "")
        return tuple(out)

    def _wrong_count(self, args: Sequence[Any], advice: str) -> TypeError:
        count = len(self._parameters)
        names = ", ".join(p.name for p in self._parameters)
        given = f"{len(args)} {'was' if len(args) == 1 else 'were'}"
        return TypeError(f"kernel {self._kernel} takes {count} argument{'' if count == 1 else 's'} ({names}), but "
                         f"{given} given{advice}")

    def _unknown(self, name: str) -> TypeError:
        import difflib

        close = difflib.get_close_matches(name, self._names, 1)
        advice = f"did you mean {close[0]}?" if close else f"it takes {', '.join(self._names)}"
        return TypeError(f"kernel {self._kernel} has no parameter {name!r}; {advice}")
