"""Arguments of launches on a recorded driver: arrays of other libraries, shared memory, constants, lists, tuples."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.launched import make_add, three

import tilewright as tw


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


class Exported:
    """A device array of another library: the CUDA array interface, with the stream its data is produced on."""

    def __init__(self, array: tw.DeviceArray, *, stream: int | None = None, readonly: bool = False) -> None:
        self.kept = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream,
                                         "data": (array.pointer, readonly)}


def test_cuda_array_interface(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    cuda.synchronised.clear()
    for _ in range(3):
        add[(1,)](Exported(x, stream=9), Exported(y, stream=11), Exported(z), 16)
        assert cuda.launches[-1].stream == 9
        assert cuda.launches[-1].params == [x.pointer, 100, 1, y.pointer, 100, 1, z.pointer, 100, 1]
    assert cuda.synchronised == [11, 0] * 3, "other streams are waited for"
    add[(1,)](x, y, Exported(z), 16, stream=4)
    with pytest.raises(ValueError, match="'z' is read-only"):
        add[(1,)](x, y, Exported(z, readonly=True), 16)


def test_dlpack(cuda: FakeCuda) -> None:
    class Dlpack:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            assert options.get("stream") == -1
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    add = make_add()
    x, y, z = three()
    add[(1,)](Dlpack(x), Dlpack(y), Dlpack(z), 16)
    assert cuda.launches[-1].params == [x.pointer, 100, 1, y.pointer, 100, 1, z.pointer, 100, 1]


def test_overlap_and_mixed_places(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    for _ in range(4):  # in the long way and in the short way
        with pytest.raises(ValueError, match="'x' is on GPU 0, but 'y' is in host memory"):
            add[(1,)](x, np.zeros(100, np.float32), z, 16)
        with pytest.raises(TypeError, match="takes 4 arguments"):
            add[(1,)](x, y, z)
        add[(1,)](x, x, z, 16)
    assert len(cuda.launches) == 4


class View:
    """Part of a device array, as another library would pass it."""

    def __init__(self, base: tw.DeviceArray, start: int, length: int, stride: int = 4) -> None:
        facts = base.__cuda_array_interface__
        self.__cuda_array_interface__ = {
            **facts, "data": (base.pointer + 4 * start, False), "shape": (length,), "strides": (stride,)}


def test_arrays_that_share_memory(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way of sharing is a specialisation; the short way finds them all, and compiles nothing twice."""
    from tilewright.launching.launcher import Launcher

    add = make_add()
    x, y, z = three()
    for _ in range(3):
        for args in ((x, y, z), (x, y, x), (z, y, z), (x, x, x), (y, y, x), (x, z, z)):
            add[(1,)](*args, 16)
            assert cuda.launches[-1].params[::3] == [a.pointer for a in args]
    assert len(cuda.linked) == 4, "apart, x and z, y and z, all three"

    def refuse(*args: Any) -> None:
        raise AssertionError("the long way")

    monkeypatch.setattr(Launcher, "_launch_slowly", refuse)
    for args in ((x, y, z), (x, y, x), (z, y, z), (x, x, x), (y, y, x), (x, z, z)):
        add[(1,)](*args, 16)
    assert cuda.launches[-1].params[::3] == [x.pointer, z.pointer, z.pointer]


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Scales:
    by: Any
    more: tuple[Any, ...] = ()


class Pair(NamedTuple):
    by: Any
    more: Any


def test_composite_constants_go_the_short_way(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frozen dataclasses and tuples; those that Python calls equal but a kernel does not are told apart."""
    from tilewright.launching.launcher import Launcher

    @tw.tile_kernel
    def scaled(x, y, scales: tw.Constant[Any]):
        tw.store(y, 0, tw.load(x, 0, 16) * scales.by)

    x, y, _ = three()
    scales = [Scales(2), Scales(2.0), Scales(True), Scales(0.0), Scales(-0.0), Scales(2, (1, Scales(Level.LOW))),
              Scales(2, (1, Scales(1))), Pair(2, 1), Pair(2, 1.0), Scales(float("nan"))]
    for _ in range(2):
        for each in scales:
            scaled[(1,)](x, y, each)
    before, slow = len(cuda.linked), []
    monkeypatch.setattr(Launcher, "_launch_slowly", lambda *args: slow.append(args))
    for each in scales:
        scaled[(1,)](x, y, dataclasses.replace(each) if isinstance(each, Scales) else each)
    assert not slow and len(cuda.linked) == before
    for other in (Scales(3), Scales(2, (1, Scales(2))), Pair(2, True), Scales([2])):
        scaled[(1,)](x, y, other)
    assert len(slow) == 4


def test_outputs_that_overlap(cuda: FakeCuda) -> None:
    @tw.tile_kernel
    def both(x, one, two):
        t = tw.load(x, 0, 16)
        tw.store(one, 0, t)
        tw.store(two, 0, t)

    x, base, _ = three(128)
    for _ in range(3):
        both[(1,)](x, View(base, 0, 64), View(base, 64, 64))
        both[(1,)](x, base, base)
        with pytest.raises(ValueError, match="writes to 'one' and to 'two', which overlap in memory without being eq"):
            both[(1,)](x, View(base, 0, 64), View(base, 32, 64))
    assert len(cuda.launches) == 6 and len(cuda.linked) == 2


def test_interleaved_views_do_not_overlap(cuda: FakeCuda) -> None:
    base = tw.to_device(np.zeros(258, np.float32))
    add = make_add()
    x = three(128)[0]
    for _ in range(3):
        add[(8,)](View(base, 0, 128, 8), x, View(base, 1, 128, 8), 16)
        assert cuda.launches[-1].params[:3] == [base.pointer, 128, 2] and len(cuda.linked) == 1
    add[(8,)](View(base, 0, 128, 8), x, View(base, 4, 128, 8), 16)
    assert len(cuda.linked) == 2


def test_lists(cuda: FakeCuda) -> None:
    @tw.tile_kernel
    def total(xs, out):
        acc = tw.zeros((16,), tw.float32)
        for k in range(len(xs)):
            acc = acc + tw.load(xs[k], (0,), (16,))
        tw.store(out, (0,), acc)

    x, y, z = three()
    for count in (2, 3):
        arrays = [x, y, x][:count]
        total[(1,)](arrays, z)
        table, length, *rest = cuda.launches[-1].params
        words = np.frombuffer(cuda.memory[table], np.uint8)
        start = table - words.ctypes.data
        records = words[start : start + 24 * count].view(np.int64).reshape(count, 3)
        assert length == count and records.tolist() == [[a.pointer, 100, 1] for a in arrays]
        assert rest == [z.pointer, 100, 1]
    total[(1,)]([x, z], z)
    assert len(cuda.linked) == 2, "an array of the list is the output"


def test_tuples(cuda: FakeCuda) -> None:
    @tw.tile_kernel
    def scale(pair: tuple[Any, tw.Constant[int]], factors):
        x, n = pair
        tw.store(x, (0,), tw.load(x, (0,), (n,)) * factors[0] + factors[1])

    x = three()[0]
    for _ in range(3):
        scale[(1,)]((x, 32), (2.5, 3))
        assert cuda.launches[-1].params == [x.pointer, 100, 1, 2.5, 3]
    assert len(cuda.linked) == 1
