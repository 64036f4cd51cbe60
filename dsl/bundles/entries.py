"""Entries of a spec: a kernel, and the arguments that it is compiled for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.arguments.annotations import Param
from tilewright.arguments.bind import leaves
from tilewright.arguments.spec import spec as read_spec
from tilewright.bundles.places import kernel_at
from tilewright.kernel import tile_kernel
from tilewright.tileir.plan import NO_ALIASES, Aliases

Names = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel for some arguments. `same` and `overlapping` name parameters that share memory."""

    kernel: tile_kernel | str
    arguments: tuple[Any, ...]
    same: Names
    overlapping: Names
    hints: Mapping[str, Any]
    symbol: str | None

    def resolved(self, folder: Path) -> tile_kernel:
        kernel = kernel_at(self.kernel, folder) if isinstance(self.kernel, str) else self.kernel
        return kernel.replace_hints(**self.hints) if self.hints else kernel


def bound(entry: Entry, kernel: tile_kernel) -> tuple[list[Any], Aliases]:
    """The arguments that an entry is compiled for, and which of them share memory."""
    given = kernel.specialiser.call.complete(entry.arguments, {})
    params = kernel.specialiser.params
    arguments = kernel.specialiser.bind([_value(p, v) for p, v in zip(params, given, strict=True)])
    positions = {leaf.name: position for position, leaf in enumerate(leaves(arguments))}

    def place(name: str) -> int:
        if name not in positions:
            raise ValueError(f"kernel {kernel.__name__} has no run-time argument {name!r}; there are "
                             f"{', '.join(positions)}")
        return positions[name]

    same = tuple(sorted((max(pair), min(pair)) for pair in (tuple(map(place, names)) for names in entry.same)))
    groups = tuple(sorted(tuple(sorted(map(place, names))) for names in entry.overlapping))
    return arguments, Aliases(same, groups) if same or groups else NO_ALIASES


def _value(param: Param, value: Any) -> Any:
    """What `bind` takes for an argument of an entry."""
    if param.constant:
        return value
    if isinstance(value, str):
        return read_spec(value)
    if isinstance(value, list):
        return [_value(param, item) for item in value]
    if isinstance(value, tuple):
        rules = param.items or ()
        several = [rules[0] if param.repeat else rules[k] if k < len(rules) else Param(param.name)
                   for k in range(len(value))]
        return tuple(_value(rule, item) for rule, item in zip(several, value, strict=True))
    return value
