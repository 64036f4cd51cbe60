"""What the explorer's page shows of layouts, shared memory, registers and occupancy, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tilewright.backend_ptx.layouts.shared import swizzled_shared
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedStore
from tilewright.backend_ptx.resources.registers import live_registers
from tilewright.backend_ptx.resources.shared import peak_bytes
from tilewright.backend_ptx.targets import SM_80, SM_90A
from tilewright.cli.reading import load_kernel, parse_args
from tilewright.inspecting.explorer import layouts, resources
from tilewright.inspecting.explorer.places import Numbering
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block
from tilewright.tileir.dtypes import float32
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import linear_shared
from tilewright.tileir.layouts.flat import distributed
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import SharedType, TileType

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def matmul() -> Any:
    args = parse_args("bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64")
    return load_kernel(f"{EXAMPLES}/matmul.py").lower(*args, target="sm_90a")


def test_layouts_say_who_holds_each_element(matmul: Any) -> None:
    function, number = matmul.machine_ir(), Numbering()
    first = layouts.tiles(function, number)[0]
    assert first["shape"] == [128, 256] and "acc" in [value["name"] for value in first["values"]]
    layout = next(op.result.type.layout for op in function.walk() if op.opcode == "wgmma")
    dims = "register", "lane", "warp"
    assert [first[dim] for dim in dims] == [layout.bases(dim) for dim in dims]
    assert 2 ** (len(first["register"]) + len(first["lane"]) + len(first["warp"])) == 128 * 256
    assert all(value["at"] >= 0 for value in first["values"])
    [ring] = [b for b in layouts.buffers(function, matmul.target, number) if b["name"] == "x_ring"]
    assert (ring["shape"], ring["copies"], ring["bytes"], ring["start"]) == ([128, 64], 4, 2, 0)
    how = [(one["what"], one["how"]) for one in ring["accesses"]]
    assert how == [("tma_load", "by TMA load"), ("wgmma", "by wgmma")]


def test_accesses_by_threads_name_instructions_and_lanes() -> None:
    args = parse_args("f16[512,512], f16[512,512], f16[512,512], 128, 128, 32")
    stages = load_kernel(f"{EXAMPLES}/matmul.py").lower(*args, target="sm_80")
    buffers = layouts.buffers(stages.machine_ir(), stages.target, Numbering())
    found = {one["how"]: one for buffer in buffers for one in buffer["accesses"]}
    assert {"cp.async", "ldmatrix.x4", "ldmatrix.x4.trans"} <= set(found)
    for one in found.values():
        assert len(one["lanes"]) == 32 and one["conflicts"] == 0, one
        words = {(start + byte) // 4 for start in one["lanes"][: one["group"]] for byte in range(0, one["width"], 4)}
        assert len({word % 32 for word in words}) == len(words), "what is served together meets in no bank"


@pytest.mark.parametrize("swizzled", [False, True])
def test_bank_conflicts_of_a_column(swizzled: bool) -> None:
    """A warp that stores columns of a row-major buffer: all lanes in one bank, unless the layout is swizzled."""
    columns = distributed((32, 32), [1 << k for k in range(5)], [32 << k for k in range(5)], [])
    rows = distributed((32, 32), [32 << k for k in range(5)], [1 << k for k in range(5)], [])
    shared = swizzled_shared(columns, rows, 4) if swizzled else linear_shared((32, 32))
    seen = _store(shared, columns)
    assert (seen["conflicts"] == 0) is swizzled
    banks = [{(start + byte) // 4 for byte in range(0, seen["width"], 4)} for start in seen["lanes"][: seen["group"]]]
    together = [word for words in banks for word in words]
    worst = max(sum(word % 32 == bank for word in set(together)) for bank in range(32))
    assert worst == seen["conflicts"] + 1


def _store(shared: Layout, layout: Layout) -> dict[str, Any]:
    b = Builder(Block())
    value = b.value(Constant(value=0.0, type=TileType(float32, layout.shape))).lay_out(layout)
    buffer = b.value(SharedAlloc(type=SharedType(float32, layout.shape, layout=shared)))
    b.emit(store := SharedStore(buffer=buffer, slot=None, value=value))
    return layouts.access(store, buffer.type, SM_80)


def test_registers_and_shared_memory_op_by_op(matmul: Any) -> None:
    function = matmul.machine_ir()
    rows = resources.program(function, Numbering())
    assert [row["text"].split("(")[0].split()[-1] for row in rows] == [op.opcode for op in function.walk()]
    assert max(row["registers"] for row in rows) == live_registers(function)
    assert max(row["shared"] for row in rows) == peak_bytes(function)
    inside = next(row for row in rows if "wgmma(" in row["text"])
    assert inside["registers"] >= 128 and inside["at"] >= 0, "the accumulator alone takes 128"
    drawn = resources.memory_map(function)
    assert max(one["start"] + one["bytes"] for one in drawn) <= function.plan.shared_bytes
    for one in drawn:
        for other in drawn:
            together = one["first"] <= other["last"] and other["first"] <= one["last"] and one is not other
            one_end, other_end = one["start"] + one["bytes"], other["start"] + other["bytes"]
            assert not together or one_end <= other["start"] or other_end <= one["start"]


def test_occupancy_and_its_limit(matmul: Any) -> None:
    found = resources.occupancy(matmul.machine_ir(), matmul)
    assert found["resident"] == 1 and "shared memory" in found["limited"] and found["threads"] == 384
    assert found["roles"] == [["consumer", 8, 232], ["producer", 4, 40]] and (found["warps"], found["most"]) == (12, 64)
    assert resources.limits_of(64, 256, 0, SM_90A) == {
        "registers": 4, "shared memory": 228, "threads": 8, "CTA slots": 32}
    # 56 registers for each of a warp's lanes: 9 warps in each of the SM's four parts.
    found = [resources.limits_of(51, threads, 0, SM_90A)["registers"] for threads in (32, 33, 256, 384)]
    assert found == [36, 18, 4, 3]
    assert resources.limits_of(33, 32, 100 * 1024, SM_80)["shared memory"] == 1
