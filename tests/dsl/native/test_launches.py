"""The launcher in machine code held against Python's: device arrays, numbers and constants on a recorded driver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from catalogue.group_kernels import grouped
from support.fake_cuda import FakeCuda, TensorMap
from support.launched import make_add, three
from support.learnt import by_code, taught

import tilewright as tw
from tilewright.launching import native, packing, words

pytestmark = pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")


def make_scale() -> Any:
    @tw.tile_kernel
    def scale(x, a, b, k: tw.ScalarInt64, flag, none, name: tw.Constant[str], factor: tw.Constant[float]):
        i = tw.bid(0)
        t = tw.load(x, (i,), (16,)) * a + b
        tw.store(x, (i,), tw.where(flag, t + tw.astype(k, tw.float32), t) * factor)

    return scale


def make_product() -> Any:
    """A kernel whose loads go through tensor maps."""
    @tw.tile_kernel
    def product(a, b, c, n: tw.Constant[int]):
        total = tw.zeros((n, n), tw.float32)
        for k in range(tw.num_tiles(a, axis=1, shape=(n, n))):
            total = tw.mma(tw.load(a, (0, k), (n, n)), tw.load(b, (k, 0), (n, n)), total)
        tw.store(c, (0, 0), tw.astype(total, tw.float16))

    return product


def test_device_arrays(cuda: FakeCuda) -> None:
    add = make_add()
    args = *three(), 16
    taught(lambda: add[(7,)](*args))
    assert by_code(cuda, lambda: add[(7,)](*args))
    assert cuda.launches[-1] == cuda.launches[0]
    other: Any = (*three(), 16)
    assert by_code(cuda, lambda: add[(7,)](*other)), "other arrays of the same kind"
    assert cuda.launches[-1].params == [n for a in other[:3] for n in (a.pointer, 100, 1)]
    assert by_code(cuda, lambda: add[(7,)](*args, stream=9)) and cuda.launches[-1].stream == 9


def test_whatever_is_unusual_goes_to_python(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    taught(lambda: add[(7,)](x, y, z, 16))
    others = [tw.to_device(np.zeros(96, np.float32)) for _ in range(3)]

    class Stream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    class Named:
        cuda_stream = 78

    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16, stream=Named())) and cuda.launches[-1].stream == 78
    assert not by_code(cuda, lambda: add[(7,)](x, y, z, 16, stream=Stream())) and cuda.launches[-1].stream == 77
    for args in ((*others, 16), (x, y, x, 16), (x, y, z, 32), (x, y, z, np.int32(16))):
        assert not by_code(cuda, add[(7,)], *args)
    assert by_code(cuda, lambda: add[(7,)](x, y, z, n=16)), "Python puts them in order"
    assert by_code(cuda, lambda: add[7](x, y, z, 16)) and by_code(cuda, lambda: tw.launch(3, (7,), add, (x, y, z, 16)))
    assert cuda.launches[-1].stream == 3
    assert not by_code(cuda, lambda: add[(8,)](x, y, z, 16)), "another grid"
    for wrong, error in (((x, y, z), TypeError), ((x, y, np.zeros(100), 16), ValueError)):
        with pytest.raises(error):
            add[(7,)](*wrong)
    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16))


def test_numbers_and_constants(cuda: FakeCuda) -> None:
    scale = make_scale()
    [x, _, _] = three()
    fixed = None, "a", 0.5
    taught(lambda: scale[(1,)](x, 2, 0.5, 7, True, *fixed))
    for a, b, k, flag in [(-3, 1e300, -1, False), (5, -0.25, -(1 << 31), True), ((1 << 31) - 1, 0.1, 0, False)]:
        assert by_code(cuda, scale[(1,)], x, a, b, k, flag, *fixed)
        with np.errstate(over="ignore"):
            assert cuda.launches[-1].params[3:] == [a, np.float32(b), k % (1 << 64), int(flag)]
    assert not by_code(cuda, lambda: scale[(1,)](x, 1, 0.5, 1 << 40, True, *fixed))
    assert cuda.launches[-1].params[5] == 1 << 40
    for rest in ((None, "b", 0.5), (None, "a", 0.25), (3, "a", 0.5), (None, "a", -0.5)):
        assert not by_code(cuda, scale[(1,)], x, 2, 0.5, 7, True, *rest)
    for number in (True, 2.0, np.int32(2)):
        assert not by_code(cuda, scale[(1,)], x, number, 0.5, 7, True, *fixed)
    with pytest.raises(OverflowError, match="'a'"):
        scale[(1,)](x, 1 << 70, 0.5, 7, True, *fixed)


def test_tensor_maps(cuda: FakeCuda) -> None:
    """A map belongs to an address: at another one Python encodes another map, and that is learnt too."""
    product = make_product()

    def some() -> list[Any]:
        return [tw.to_device(np.zeros((256, 256), np.float16)) for _ in range(3)]

    def maps() -> list[TensorMap]:
        return [TensorMap.unpack(p) for p in cuda.launches[-1].params if isinstance(p, bytes)]

    one, two = some(), some()
    taught(product[1], *one, 64)
    assert by_code(cuda, product[1], *one, 64)
    first = maps()
    assert first and {m.pointer for m in first} <= {a.pointer for a in one}
    assert by_code(cuda, product[1], *two, 64), "arrays at other addresses"
    places = {a.pointer: b.pointer for a, b in zip(one, two, strict=True)}
    assert maps() == [replace(m, pointer=places[m.pointer]) for m in first]
    assert by_code(cuda, product[1], *one, 64) and maps() == first
    empty = [tw.to_device(np.zeros((0, 256), np.float16)), *two[1:]]
    taught(product[1], *empty, 64)
    by_python = maps()
    assert by_code(cuda, product[1], *empty, 64) and maps() == by_python, "whose map is that of other memory"


def test_a_driver_that_does_not_say_where_parameters_are(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """ptxas aligns maps by their addresses, which depend on the architecture."""
    monkeypatch.setattr(packing, "driver_version", lambda: 12030)
    args = [tw.to_device(np.zeros((256, 256), np.float16)) for _ in range(3)]
    product = make_product()
    taught(product[1], *args, 64)
    assert not by_code(cuda, product[1], *args, 64)
    add, args = make_add(), three()
    taught(add[7], *args, 16)
    assert by_code(cuda, add[7], *args, 16), "no tensor map"


def test_what_only_python_launches(cuda: FakeCuda) -> None:
    def some(*shapes: tuple[int, int]) -> list[Any]:
        return [tw.to_device(np.zeros(shape, np.float16)) for shape in shapes]

    args = some((72, 40), (8, 72)), some((40, 64), (72, 128)), some((72, 64), (8, 128))
    kernel = grouped.replace_hints()
    bound = kernel.bind(2, *args, 64, 128, 32)
    for launch in (lambda: kernel[2](*args, 64, 128, 32), bound):
        taught(launch)
        assert not by_code(cuda, launch), "lists"


def test_more_parameters_than_there_is_room_for(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MOST_BYTES", 47)
    add, args = make_add(), (*three(), 16)
    bound = add.bind(7, *args)
    for launch in (lambda: add[(7,)](*args), bound):
        taught(launch)
        assert not by_code(cuda, launch), "three addresses, extents and strides have 48 bytes"


def test_the_drivers_errors_are_pythons(cuda: FakeCuda) -> None:
    add = make_add()
    args = *three(), 16
    bound = add.bind(7, *args)
    taught(lambda: add[(7,)](*args))
    taught(bound)
    cuda.refused = 719
    for launch in (lambda: add[(7,)](*args), bound):
        assert not by_code(cuda, launch), "Python tries again, and says what is wrong"
    cuda.refused = cuda.context = 0
    assert by_code(cuda, lambda: add[(7,)](*args)) is False or cuda.context


def test_several_devices(cuda: FakeCuda) -> None:
    cuda.devices = 2
    add = make_add()
    args = *three(), 16
    taught(lambda: add[(7,)](*args))
    assert by_code(cuda, lambda: add[(7,)](*args))
    cuda.context = 101
    assert not by_code(cuda, lambda: add[(7,)](*args)) and cuda.context == 100


@dataclass(frozen=True)
class Shift:
    by: int


def test_constants_of_other_classes(cuda: FakeCuda) -> None:
    """Frozen ones are known by identity; an equal one goes to Python, which compares."""
    @tw.tile_kernel
    def shift(x, how: tw.Constant[Shift]):
        tw.store(x, 0, tw.load(x, 0, 16) + how.by)

    [x, _, _], how = three(), Shift(3)
    taught(shift[1], x, how)
    assert by_code(cuda, shift[1], x, how)
    assert not by_code(cuda, shift[1], x, Shift(3)) and not by_code(cuda, shift[1], x, Shift(4))


def test_constants_in_tuples(cuda: FakeCuda) -> None:
    """Ints in a tuple are known by their values, also where the annotation is one of a tuple."""
    @tw.tile_kernel
    def shift(x, how: tw.Constant[tuple[int, int]], more: tw.Constant[Any]):
        tw.store(x, 0, tw.load(x, 0, 16) + how[0] + how[1] + more[0])

    [x, _, _], number = three(), 1 << 40
    taught(shift[1], x, (1, -number), (number,))
    assert by_code(cuda, shift[1], x, (1, -number), (number,))
    for how, more in (((1, number), (number,)), ((True, -number), (number,)), ((1, -number), (number, 1)),
                      ((1, -number), (float(number),))):
        assert not by_code(cuda, shift[1], x, how, more)
