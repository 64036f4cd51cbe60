"""isinstance: of what is known while compiling, and of tiles and arrays."""

from __future__ import annotations

from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    Keywords,
    ListOf,
    Range,
    Struct,
    Text,
    Val,
    is_array,
    is_list,
    is_loose,
    is_tile,
    named,
)

_NUMBERS = (bool, int, float)


@call_rule("isinstance", isinstance)
def isinstance_(t: Translator, x: Val, kinds: Val, /) -> Val:
    each = kinds if isinstance(kinds, tuple) else (kinds,)
    if not all(isinstance(kind, type) for kind in each):
        raise bad("isinstance", "kinds", f"must be a class or a tuple of classes, got {named(kinds)}")
    return any([_is(x, kind) for kind in each])


def _is(x: Val, kind: type) -> bool:
    if kind.__module__.startswith("tilewright.") and kind.__name__ in ("Tile", "Array"):
        return is_tile(x) if kind.__name__ == "Tile" else is_array(x)
    if is_tile(x) and not is_loose(x):
        if kind in _NUMBERS:
            raise bad("isinstance", "x", f"is {named(x)}, which is no Python number",
                      hints=["test x.dtype == ct.float32, or x.ndim"])
        return False
    if isinstance(x, Struct):
        return issubclass(x.type, kind)
    composite = next((python for ours, python in _OURS if isinstance(x, ours)), None)
    if composite is not None or is_list(x):
        return issubclass(composite or list, kind)
    return not is_array(x) and isinstance(x, kind)


# A ListOf is a tuple here.
_OURS: tuple[tuple[type, type], ...] = ((ListOf, list), (Keywords, dict), (Range, range), (Text, str))
