"""The documented stubs and the frontend's rules have the same parameters; on the host a stub explains itself."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import tilewright as ct
import tilewright.frontend
from tilewright.frontend.calls.call import SYNTAX_FORMS
from tilewright.frontend.calls.registry import RULES
from tilewright.language import Array, Tile, TiledView
from tilewright.language.raw import RawArrayMemory

PUBLIC = {name: getattr(ct, name) for name in ct.language.__all__}
STUBS = {name: function for name, function in PUBLIC.items() if hasattr(function, "__tilewright_builtin__")}
METHODS = {
    f"{kind.__name__}.{name}": member
    for kind in (Tile, Array, TiledView, RawArrayMemory) for name, member in vars(kind).items()
    if hasattr(member, "__tilewright_builtin__")
}
# Functions whose IR op does not exist yet: calling one is a TileUnsupportedFeatureError.
MISSING: set[str] = set()


def parameters(function: Any, skip: int = 0) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()][skip:]


@pytest.mark.parametrize("name", sorted(STUBS) + sorted(METHODS))
def test_the_parameters_agree(name: str) -> None:
    stub = STUBS.get(name) or METHODS[name]
    assert stub.__doc__
    mark = stub.__tilewright_builtin__
    assert mark == name
    if mark in SYNTAX_FORMS:
        return
    if mark in MISSING:
        assert mark not in RULES, f"{mark} has a rule now: take it from the list of missing functions"
        return
    assert parameters(stub) == parameters(RULES[mark].function, skip=1)


def test_a_stub_on_the_host_says_what_to_do() -> None:
    nothing: Any = None
    with pytest.raises(RuntimeError, match="cannot be called on the host.*tile_kernel"):
        ct.load(nothing, 0, 1)
    assert ct.cdiv(7, 2) == 4


def test_unbound_methods_are_functions() -> None:
    @ct.tile_kernel
    def kernel(x):
        ct.store(x, (0, 0), ct.Tile.reshape(ct.arange(8, dtype=ct.int32), (2, 4)))

    assert "reshape" in kernel.ir(ct.spec("i32[2,4]"), passes=False)


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_missing_says_so(name: str) -> None:
    function = getattr(ct, name)

    @ct.tile_kernel
    def kernel(x):
        function(x, 0, 1)

    with pytest.raises(ct.TileUnsupportedFeatureError, match="not implemented yet"):
        kernel.ir(ct.spec("i32[8]"))
