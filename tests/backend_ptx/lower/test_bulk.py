"""Bulk copies as PTX: tensor maps stay parameters, every box is an instruction, ptxas takes it."""

from __future__ import annotations

import re

import pytest
from support.bulk_kernels import copy_text, lowered

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.map_records import TensorMapSpec
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.dtypes import bfloat16, float32

TARGET = get_target("sm_90a")


@pytest.mark.parametrize("dtype, shape, order, inner, instructions", [
    ("bf16", (64, 64), (0, 1), 1, 1), ("bf16", (64, 128), (0, 1), 1, 2), ("bf16", (128, 64), (1, 0), 0, 2),
    ("f32", (512, 16), (0, 1), 1, 2), ("i8", (2, 64, 16), (0, 1, 2), 2, 1), ("f32", (1024,), (0,), 0, 4),
])
def test_one_instruction_for_each_box(
    dtype: str, shape: tuple[int, ...], order: tuple[int, ...], inner: int, instructions: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = lowered(copy_text(dtype, shape, order, inner), TARGET, monkeypatch)
    ptx, _ = llvm_to_ptx(kernel.llvm_text, TARGET)
    assert ptx.count(f"cp.async.bulk.tensor.{len(shape)}d") == instructions
    made = assemble(ptx, TARGET)
    assert made.spills == 0 and "0 bytes stack frame" in made.log


def test_the_map_is_read_where_the_launch_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No copy to local memory: TMA could not read it there."""
    kernel = lowered(copy_text("bf16", (64, 64), (0, 1), 1), TARGET, monkeypatch)
    ptx, _ = llvm_to_ptx(kernel.llvm_text, TARGET)
    assert ".local" not in ptx and "cvta.param" in ptx
    assert re.search(r"\.param \.align 64 \.b8 \w+\[128\]", ptx)


def test_the_abi_says_how_to_make_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    abi = lowered(copy_text("bf16", (128, 64), (1, 0), 0), TARGET, monkeypatch).abi
    param = abi.params[-1]
    assert (param.kind, param.llvm_type, param.size, param.argument) == ("tensor_map", "ptr", 128, 0)
    # Tile axis 0 is array axis 1, along which elements lie side by side: rows of 64 of them, 64 rows.
    assert param.tensor_map == TensorMapSpec(0, bfloat16, (1, 0), (64, 64), 128)
    assert abi.map_position(param.tensor_map) == len(abi.params) - 1
    again = KernelAbi.from_json(abi.to_json())
    assert again == abi and again.params[-1].tensor_map == param.tensor_map
    assert param.tensor_map != TensorMapSpec(0, float32, (1, 0), (64, 64), 128)


def test_copies_of_one_box_share_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    text = copy_text("bf16", (64, 64), (0, 1), 1)
    [line] = [line for line in text.splitlines() if "tma_load" in line]
    twice = text.replace(line, line + "\n" + line.replace("%i, %j", "%j, %i"))
    kinds = [p.kind for p in lowered(twice, TARGET, monkeypatch).abi.params]
    assert kinds.count("tensor_map") == 1


def test_coordinates_beyond_32_bits_are_clamped(monkeypatch: pytest.MonkeyPatch) -> None:
    """index * step of any index could wrap around into the array; that of a block's number cannot."""
    text = copy_text("bf16", (64, 64), (0, 1), 1)

    def clamps(index: str, elem: str = "i32") -> int:
        changed = text.replace("%slot:", f"%k: {index}\n  %slot:").replace("(%i, %j)", "(%i, %k)")
        return lowered(changed, TARGET, monkeypatch).llvm_text.count(f"= call {elem} @llvm.sm")

    assert clamps("i32 = sub(lhs=%1, rhs=%i)") == 0
    assert clamps("i32 = mul(lhs=%j, rhs=%j)") == 2
    assert clamps("i32 = extent(array=%a, axis=0)") == 1  # never negative
    few = "i64 = cast(src=%j, dtype=i64)"
    assert clamps(few) == 0 and clamps(few, "i64") == clamps("i32 = constant(value=0, type=tile<i32>)", "i64")
    wide = "i64 = constant(value=8589934592, type=tile<i64>)"
    assert clamps(wide, "i64") == clamps(few, "i64") + 2
