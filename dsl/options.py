"""Hints of the decorator, each a value or a ByTarget, and their checks."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from tilewright.tileir.plan import Hints
from tilewright.tileir.records import record
from tilewright.tracebacks import public

_MISSING: Any = object()


class ByTarget:
    """A hint that differs by GPU. Without `default` the option's own default holds for all other targets.

    Errors: ValueError for a keyword that is not `sm_` followed by digits. The values are checked where the hint is
        used.

    Example:
        @ct.tile_kernel(occupancy=ct.ByTarget(default=2, sm_90=4))
        def kernel(x):
            ct.store(x, 0, ct.bid(0))

        print(ct.ByTarget(sm_90=4))  # ByTarget(sm_90=4)
        ct.ByTarget(hopper=4)  # ValueError
        kernel.replace_hints(occupancy=ct.ByTarget(default=100))  # ValueError
    """

    __slots__ = ("default", "targets")

    @public
    def __init__(self, *, default: Any = _MISSING, **targets: Any) -> None:
        for name in targets:
            if not re.fullmatch(r"sm_\d+", name):
                raise ValueError(f"ByTarget: {name!r} is not a target; write sm_ followed by digits, such as sm_90")
        self.default = default
        self.targets = dict(targets)

    def resolve(self, target: str, fallback: Any) -> Any:
        """The value for a target such as "sm_90a", for which the name sm_90 stands too."""
        value = self.targets.get(target.rstrip("a"), self.default)
        return fallback if value is _MISSING else value

    def values(self) -> list[Any]:
        """Every value that some target may get."""
        given = [] if self.default is _MISSING else [self.default]
        return given + list(self.targets.values())

    def _key(self) -> tuple[Any, ...]:
        return self.default, tuple(sorted(self.targets.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByTarget) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [] if self.default is _MISSING else [f"default={self.default!r}"]
        parts += [f"{name}={value!r}" for name, value in self.targets.items()]
        return f"ByTarget({', '.join(parts)})"


@record
class KernelOptions:
    """The options of tile_kernel. Raises ValueError for a value that an option does not take."""

    num_ctas: int | ByTarget | None = None
    occupancy: int | ByTarget | None = None
    opt_level: int | ByTarget | None = 3
    num_worker_warps: int | ByTarget | None = None
    programmatic_dependent_launch: bool | ByTarget | None = False

    def __post_init__(self) -> None:
        for option in fields(self):
            given = getattr(self, option.name)
            for value in given.values() if isinstance(given, ByTarget) else [given]:
                _check(option.name, value)

    def resolve(self, target: str) -> Hints:
        """The hints for one target."""
        out: dict[str, Any] = {}
        for option in fields(self):
            value = getattr(self, option.name)
            if isinstance(value, ByTarget):
                value = value.resolve(target, option.default)
            if value is not None:
                out[option.name] = value
        return Hints(**out)


@record
class LaunchRules:
    """What the decorator says that is no hint. `grid`: expressions of names of dimensions and parameters, by which the
    kernel is launched without one. `deterministic`: results that depend on the order of blocks are refused.
    `math`: one of MATH_MODES; None for the one that the process has when the kernel is made.

    Raises TypeError for values of another type.
    """

    grid: str | None = None
    deterministic: bool = False
    math: str | None = None

    def __post_init__(self) -> None:
        if self.grid is not None and not isinstance(self.grid, str):
            raise TypeError('tile_kernel: grid must be a string such as "cdiv(M, TM), cdiv(N, TN)", '
                            f"not {self.grid!r}")
        if not isinstance(self.deterministic, bool):
            raise TypeError(f"tile_kernel: deterministic must be True or False, not {self.deterministic!r}")
        if self.math is not None:
            check_math("tile_kernel", self.math)


MATH_MODES = "exact", "default", "fast"


def check_math(what: str, mode: object) -> None:
    """Raise ValueError for what is no math mode."""
    if mode not in MATH_MODES:
        raise ValueError(f'{what}: math must be "exact", "default" or "fast", not {mode!r}')


_ALLOWED: dict[str, tuple[frozenset[int], str]] = {
    "num_ctas": (frozenset({1, 2, 4, 8, 16}), "a power of two from 1 to 16"),
    "occupancy": (frozenset(range(1, 33)), "an int from 1 to 32"),
    "opt_level": (frozenset(range(4)), "an int from 0 to 3"),
    "num_worker_warps": (frozenset({4, 8}), "4 or 8"),
    "programmatic_dependent_launch": (frozenset({False, True}), "True or False"),
}


def _check(name: str, value: Any) -> None:
    allowed, words = _ALLOWED[name]
    if value is None:
        return
    if type(value) is not type(next(iter(allowed))) or value not in allowed:
        raise ValueError(f"{name} must be {words} or None, not {value!r}")
