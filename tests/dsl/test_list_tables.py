"""Tables of list arguments on a recorded driver: records and tensor maps, once for each content, kept for graphs."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue.group_kernels import grouped, ragged
from support import fake_cuda
from support.fake_cuda import FakeCuda, TensorMap

import tilewright as tw
from tilewright.backend_ptx.runtime import tables


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def some(*shapes: tuple[int, int]) -> list[tw.DeviceArray]:
    return [tw.to_device(np.zeros(shape, np.float16)) for shape in shapes]


def lists() -> tuple[list[tw.DeviceArray], ...]:
    return some((72, 40), (8, 72)), some((40, 64), (72, 128)), some((72, 64), (8, 128))


class Launcher:
    """A kernel that no other test has launched, on the recorded driver."""

    def __init__(self) -> None:
        self.kernel = grouped.replace_hints()

    def __call__(self, args: tuple[Any, ...]) -> None:
        self.kernel[(2,)](*args, 64, 128, 32)


def maps_at(address: int, count: int) -> list[TensorMap]:
    return [TensorMap.unpack(ctypes.string_at(address + 128 * k, 128)) for k in range(count)]


def seen(cuda: FakeCuda) -> list[list[TensorMap]]:
    """The maps of the three lists that the last launch was given."""
    *_, left, right, out = cuda.launches[-1].params
    return [maps_at(address, 2) for address in (left, right, out)]


def test_each_array_has_a_map(cuda: FakeCuda) -> None:
    launch = Launcher()
    args = lists()
    launch(args)
    params = cuda.launches[-1].params
    assert params[1:6:2] == [2, 2, 2] and all(address % 128 == 0 for address in (*params[:5:2], *params[6:]))
    for arrays, maps in zip(args, seen(cuda), strict=True):
        assert [m.pointer for m in maps] == [a.pointer for a in arrays]
        assert [m.dims for m in maps] == [a.shape[::-1] for a in arrays]
        assert [m.strides for m in maps] == [(2 * a.shape[1],) for a in arrays]


def test_tables_are_made_once_for_each_content(cuda: FakeCuda) -> None:
    launch = Launcher()
    args, others = lists(), lists()
    launch(args)
    first, encoded, memory = cuda.launches[-1].params, len(cuda.encoded), len(cuda.memory)
    for _ in range(3):
        launch(args)
        assert cuda.launches[-1].params == first
    assert len(cuda.encoded) == encoded == 6 and len(cuda.memory) == memory
    launch(others)
    assert [[m.pointer for m in maps] for maps in seen(cuda)] == [[a.pointer for a in one] for one in others]
    launch((args[0], others[1], args[2]))
    assert [m.pointer for m in seen(cuda)[1]] == [a.pointer for a in others[1]], "no map of an earlier launch"
    assert [m.pointer for m in seen(cuda)[0]] == [a.pointer for a in args[0]]


def test_launches_without_lists_make_none(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "KeptTables", None)
    x, w, y = (tw.to_device(np.zeros(shape, np.float16)) for shape in ((160, 72), (2, 72, 64), (160, 64)))
    ragged.replace_hints()[(1, 2)](x, w, tw.to_device(np.array([0, 50, 160], np.int32)), y, 64, 64, 32)
    assert len(cuda.launches) == 1


def test_a_slice_of_a_launch_has_the_map_of_its_array(cuda: FakeCuda) -> None:
    x, w, y = (tw.to_device(np.zeros(shape, np.float16)) for shape in ((160, 72), (2, 72, 64), (160, 64)))
    ragged.replace_hints()[(1, 2)](x, w, tw.to_device(np.array([0, 50, 160], np.int32)), y, 64, 64, 32)
    found = TensorMap.unpack(next(p for p in cuda.launches[-1].params if isinstance(p, bytes)))
    # It begins where the array does, and the rows stand in three of its dimensions.
    assert found == TensorMap(x.pointer, 2, (72, 1 << 30, 161, 0x7FFF0000), (144, 144, (1 << 34) - 144),
                              (32, 64, 1, 1), found.swizzle)


def test_old_tables_are_freed(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_KEPT", 2)
    launch = Launcher()
    kept = [lists() for _ in range(7)]
    launch(kept[0])
    before = len(cuda.memory)
    for args in kept:
        launch(args)
        gc.collect()
        assert len(cuda.memory) <= before + 2
        assert [m.pointer for m in seen(cuda)[0]] == [a.pointer for a in args[0]]


def test_a_graph_keeps_its_tables(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was captured is replayed after the plan has forgotten its lists; nothing is copied again."""
    monkeypatch.setattr(tables, "MAX_KEPT", 1)
    launch = Launcher()
    args, fresh = lists(), [lists() for _ in range(3)]
    launch(args)
    cuda.captured = {0}
    launch(args)
    captured = [cuda.launches[-1].params]
    launch(fresh[0])  # a content that is new in the capture
    captured.append(cuda.launches[-1].params)
    cuda.captured = set()
    assert cuda.capture_mode == "global"
    for other in fresh[1:]:
        launch(other)
    gc.collect()
    for params, arrays in zip(captured, (args[0], fresh[0][0]), strict=True):
        assert [m.pointer for m in maps_at(params[6], 2)] == [a.pointer for a in arrays]
        assert all(any(pointer <= address < pointer + 4096 for pointer in cuda.memory) for address in params[6:])


def test_the_same_arrays_again_are_not_bound_again(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    @tw.tile_kernel
    def scaled(xs, factor, out):
        for k in range(len(xs)):
            tw.store(out, (k, 0), tw.load(xs[k], (0, 0), (1, 64)) * tw.astype(factor, out.dtype))

    arrays, [out, other] = some((1, 64), (1, 64), (1, 64)), some((3, 64), (3, 64))
    scaled[(1,)](arrays, 2.0, out)
    bound: list[Any] = []
    bind = scaled.launcher._specialiser.bind

    def recorded(args: Any) -> Any:
        bound.append(args)
        return bind(args)

    monkeypatch.setattr(scaled.launcher._specialiser, "bind", recorded)
    scaled[(1,)](list(arrays), 3.0, out)
    assert not bound and cuda.launches[-1].params[:2] == [cuda.launches[0].params[0], 3]
    assert cuda.launches[-1].params[2] == 3.0 and cuda.launches[-1].params[3] == out.pointer
    for args in ((arrays[:2], 2.0, out), (arrays, 2, out), (arrays, 2.0, other), ([*arrays[:2], out], 2.0, out)):
        scaled[(1,)](*args)
        assert bound.pop() == args and not bound
    scaled[(1,)](arrays[::-1], 2.0, other)
    assert bound.pop()
    records = ctypes.string_at(cuda.launches[-1].params[0], 40 * 3)
    assert np.frombuffer(records, np.int64).reshape(3, 5)[:, 0].tolist() == [a.pointer for a in arrays[::-1]]
