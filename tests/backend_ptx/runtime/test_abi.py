"""The ABI record: order and types of parameters, JSON round trip, names that PTX takes."""

from __future__ import annotations

import pytest

from tilewright.backend_ptx.abi import KernelAbi, kernel_abi, symbol_name
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.dtypes import bool_, float32, float64, int32, int64
from tilewright.tileir.plan import Switches
from tilewright.tileir.types import ArrayType, ListType, scalar

MATRIX = ArrayType(float32, (None, 1), (None, 1))
WIDE = ArrayType(float64, (None,), (1,), index=int64)


def make(*types: object, linear_grid: bool = False) -> Function:
    params = [Value(t, f"p{i}") for i, t in enumerate(types)]  # type: ignore[arg-type]
    function = Function("kernel", Block(params))
    function.switches = Switches(linear_grid=linear_grid)
    return function


def test_order() -> None:
    abi = kernel_abi(make(MATRIX, scalar(bool_), WIDE, ListType(MATRIX), scalar(int64)))
    assert [(p.kind, p.argument, p.axis, p.llvm_type) for p in abi.params] == [
        ("pointer", 0, -1, "ptr addrspace(1)"), ("extent", 0, 0, "i32"), ("extent", 0, 1, "i32"),
        ("stride", 0, 0, "i32"), ("stride", 0, 1, "i32"),
        ("scalar", 1, -1, "i8"),
        ("pointer", 2, -1, "ptr addrspace(1)"), ("extent", 2, 0, "i64"), ("stride", 2, 0, "i64"),
        ("table", 3, -1, "ptr addrspace(1)"), ("length", 3, -1, "i32"),
        ("scalar", 4, -1, "i64"),
    ]
    assert abi.params[abi.position("stride", 2, 0)].size == 8
    assert abi.position("length", 3) == 10
    with pytest.raises(ValueError):
        abi.position("extent", 1, 0)


def test_linear_grid_adds_three() -> None:
    abi = kernel_abi(make(scalar(int32), linear_grid=True))
    assert [(p.kind, p.axis, p.llvm_type) for p in abi.params[1:]] == [("grid", k, "i32") for k in range(3)]
    assert abi.linear_grid


def test_json_round_trip() -> None:
    abi = kernel_abi(make(MATRIX, scalar(bool_), WIDE, ListType(MATRIX), linear_grid=True))
    again = KernelAbi.from_json(abi.to_json())
    assert again == abi
    assert again.position("grid", -1, 2) == len(abi.params) - 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "k", "params": [{"kind": "x"}], "linear_grid": false}'])
def test_foreign_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        KernelAbi.from_json(text)


def test_names() -> None:
    function = make(scalar(int32), scalar(int32))
    for param in function.params:
        param.hint = "größe"
    names = [p.name for p in kernel_abi(function).params]
    assert len(set(names)) == 2 and all(n.isascii() for n in names)
    assert symbol_name("<lambda>") == "_lambda_"
    assert symbol_name("2nd") == "kernel_2nd"
    assert symbol_name("_") == "kernel__" and symbol_name("__") == "__"
    assert symbol_name("WARP_SZ") == "kernel_WARP_SZ"
