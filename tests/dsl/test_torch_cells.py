"""torch's own functions on a cell, into which its conversion puts the tensor of a Python object."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest
from support.optional import optional

from tilewright.arguments import torch_cells
from tilewright.arguments.torch_cells import CellFunctions, cell_functions

torch = optional("torch")


@pytest.fixture
def functions() -> CellFunctions:
    found = cell_functions.__wrapped__()
    if found is None:
        pytest.skip(f"torch {torch.__version__} on {sys.platform} has no such functions")
    return found


def test_told(functions: CellFunctions) -> None:
    leaf, base = torch.ones(3, requires_grad=True), torch.zeros(8)
    with torch.inference_mode():
        uncounted = torch.ones(4)
    for tensor, versions in ((base[2:4], 1), (base, 2), (leaf, 0), (leaf * 2, 0), (uncounted, 0)):
        assert functions.load(tensor)
        assert functions.has_record() or not tensor.requires_grad
        assert functions.is_inference() == (tensor is uncounted)
        if versions:
            functions.raise_version()
            assert base._version == versions
        assert functions.empty()


def test_a_cell_keeps_nothing(functions: CellFunctions) -> None:
    tensor = torch.zeros(4)
    seen = weakref.ref(tensor)
    assert functions.load(tensor) and functions.empty()
    del tensor
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("what", ["load", "empty", "has_record", "is_inference", "raise_version"])
def test_what_does_something_else_is_not_used(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(CellFunctions):
        pass

    setattr(Other, what, lambda self, *tensor: {"load": False, "empty": False}.get(what, True))
    monkeypatch.setattr(torch_cells, "CellFunctions", Other)
    assert cell_functions.__wrapped__() is None


def test_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(torch_cells._IN_CPU, "assign", "no_such_symbol")
    found: Any = cell_functions.__wrapped__()
    assert found is None
