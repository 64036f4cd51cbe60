"""What functions of kernels capture: globals, builtins and closure values, read once for each kernel and kept."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_CAPTURED = "__tilewright_captured__"


def captured_by(kernel: FunctionType, function: FunctionType) -> dict[str, Any]:
    """What a function that a kernel reaches (or the kernel's own) names, as it was when this was asked for first.

    The kernel's function itself holds it: what it captures often leads back to it, so a table, even one with weak keys,
    would keep every kernel that a factory makes. (functools.wraps copies what a function holds to another.)
    """
    held = vars(kernel).get(_CAPTURED)
    if held is None or held[0] is not kernel:
        held = vars(kernel)[_CAPTURED] = kernel, {}
    known: dict[FunctionType, dict[str, Any]] = held[1]
    if function not in known:
        known[function] = _captured(function)
    return known[function]


def _captured(function: FunctionType) -> dict[str, Any]:
    """The globals, builtins and closure values that a function and the functions inside it name."""
    names = {name for code in codes_of(function.__code__) for name in code.co_names}
    space, standard = function.__globals__, vars(builtins)
    out = {name: space[name] if name in space else standard[name] for name in sorted(names)
           if name in space or name in standard}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            out[name] = cell.cell_contents
        except ValueError:  # assigned later
            continue
    return out


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_of(inner)
