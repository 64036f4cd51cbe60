"""Bulk copies on a real GPU: the driver takes our tensor maps, and tiles arrive where their layout says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.bulk_kernels import BLOCKS, CASES, Case, lowered

from tilewright.arguments.annotations import PLAIN_ARRAY
from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import ArrayArgument
from tilewright.backend_ptx.abi import AbiParam
from tilewright.launching.device_plans import DevicePlan
from tilewright.launching.grid import make_grid
from tilewright.tileir.dtypes import BY_IR

pytestmark = pytest.mark.gpu


def on_device(name: str, array: np.ndarray, case: Case, buffers: list[Any]) -> ArrayArgument:
    """The array with its strides in device memory."""
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.memory import Buffer, upload

    size, strides = array.itemsize, tuple(s // array.itemsize for s in array.strides)
    count = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) if array.size else 1
    flat = np.zeros(count, array.dtype)
    np.lib.stride_tricks.as_strided(flat, array.shape, array.strides)[...] = array
    buffer = Buffer(get_device(0), count * size)
    upload(get_device(0), buffer.pointer, flat.ctypes.data, count * size)
    buffers.append((buffer, flat))
    return ArrayArgument(name, ArrayInfo(BY_IR[case.dtype], buffer.pointer, array.shape, strides, 0), PLAIN_ARRAY)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_tile_arrives(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.kernel import load_entry
    from tilewright.backend_ptx.runtime.memory import download
    from tilewright.tileir.cache import Entry

    device = get_device(0)
    if not device.target.has_tma:
        pytest.skip(f"{device.target.name} has no TMA")
    device.make_current()
    made = lowered(case.text(), device.target, monkeypatch)
    ptx, _ = llvm_to_ptx(made.llvm_text, device.target)
    meta = {"abi": made.abi.to_json(), "threads": made.threads, "shared_bytes": made.shared_bytes,
            "opt_level": 3, "cluster": made.cluster}
    kernel = load_entry(Entry(meta, ptx), device)
    assert kernel is not None and any(isinstance(p, AbiParam) and p.tensor_map for p in kernel.abi.params)
    array, out = case.array(), case.output()
    buffers: list[Any] = []
    arguments = [on_device("a", array, case, buffers), on_device("out", out, case, buffers)]
    plan = DevicePlan(kernel, arguments, frozenset({1}))
    plan.launch_bound(make_grid((BLOCKS,)), arguments, 0)
    download(device, out.ctypes.data, buffers[1][0].pointer, out.nbytes)
    np.testing.assert_array_equal(out.astype(float), case.expected(array).astype(float))
