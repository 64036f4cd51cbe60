"""The launcher in machine code held against Python's: device arrays and a stand-in for torch on a recorded driver."""

from __future__ import annotations

import ctypes
import gc
import random
import threading
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue.group_kernels import grouped
from support import fake_cuda, fake_torch
from support.fake_cuda import FakeCuda
from support.fake_torch import FakeTorch, Tensor
from support.launched import make_add

import tilewright as tw
from tilewright.arguments import torch_tensors
from tilewright.launching import launcher, learning, native, packing, words

pytestmark = pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    """A driver; launches are learnt after the third that Python makes."""
    fake_cuda.learning_soon(monkeypatch)
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture(params=["table", "cells", "handles"])
def torch(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[FakeTorch]:
    """Tensors that machine code reads by DLPack's table, raising versions by Python or in a cell, or by torch's
    functions on their handles."""
    yield fake_torch.install(monkeypatch, request.param)
    torch_tensors._increment.cache_clear()


def make_scale() -> Any:
    @tw.tile_kernel
    def scale(x, a, b, k: tw.ScalarInt64, flag, none, name: tw.Constant[str], factor: tw.Constant[float]):
        i = tw.bid(0)
        t = tw.load(x, (i,), (16,)) * a + b
        tw.store(x, (i,), tw.where(flag, t + tw.astype(k, tw.float32), t) * factor)

    return scale


def three(n: int = 100) -> list[tw.DeviceArray]:
    return [tw.to_device(np.arange(n, dtype=np.float32)) for _ in range(3)]


def make_product() -> Any:
    """A kernel whose loads go through tensor maps."""
    @tw.tile_kernel
    def product(a, b, c, n: tw.Constant[int]):
        total = tw.zeros((n, n), tw.float32)
        for k in range(tw.num_tiles(a, axis=1, shape=(n, n))):
            total = tw.mma(tw.load(a, (0, k), (n, n)), tw.load(b, (k, 0), (n, n)), total)
        tw.store(c, (0, 0), tw.astype(total, tw.float16))

    return product


def by_code(cuda: FakeCuda, launch: Any, *args: Any) -> bool:
    """Whether machine code made a launch; it is made in any case, once."""
    before, launches = cuda.called, len(cuda.launches)
    launch(*args)
    assert len(cuda.launches) == launches + 1
    return cuda.called > before


def taught(launch: Any, *args: Any) -> None:
    for _ in range(4):
        launch(*args)


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


def test_random_launches_agree_with_python(
    cuda: FakeCuda, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shapes, strides, alignments, overlaps, dtypes, devices and streams: the two pack the same, or Python does."""
    add, reference = make_add(), make_add()
    monkeypatch.setattr(learning, "_AT_FIRST", 1 << 30)
    by_python = reference[(6,)]
    monkeypatch.setattr(learning, "_AT_FIRST", 3)
    memory = ctypes.create_string_buffer(1 << 16)
    base = -(-ctypes.addressof(memory) // 256) * 256
    rng, coded = random.Random(0), 0

    def tensor(*dtypes: str) -> Tensor:
        length, step = rng.choice([(96, 1), (96, 1), (100, 1), (96, 2)])
        place = base + 4096 * rng.randrange(4) + rng.choice([0, 0, 0, 4, 16, 2048])
        return Tensor(place, (length,), (step,), rng.choice(dtypes))

    for round_ in range(160):
        args: tuple[Any, ...] = (
            tensor("float32", "float32", "int32"), tensor("float32"), tensor("float32"), rng.choice([16, 16, 16, 32]))
        if rng.random() < 0.7:  # one kind often enough that it is known
            places = rng.sample([base + 2048 * k + 16 * (k == 3) for k in range(8)], 3)
            args = *(Tensor(place, (96,), (1,)) for place in places), 16
        torch.stream = rng.choice([0, 5])
        seen: list[Any] = []
        for kernel in (add, reference):
            noted, launches = len(torch.noted), len(cuda.launches)
            before = cuda.called
            try:
                (by_python if kernel is reference else kernel[(6,)])(*args)
            except ValueError as error:
                seen.append(str(error))
                continue
            coded += cuda.called > before and kernel is add
            assert kernel is add or cuda.called == before
            assert len(cuda.launches) == launches + 1 and torch.noted[noted:] == [args[2]], round_
            seen.append((cuda.launches[-1].params, cuda.launches[-1].stream, cuda.linked.index(_text(cuda))))
        assert seen[0] == seen[1], (round_, args)
    assert 60 < coded < 155, coded


def _text(cuda: FakeCuda) -> str:
    """The code that the last launch ran, without what tells two kernels apart."""
    name, formats = cuda.functions[-1]
    return next(text for text in cuda.linked if f".entry {name}(" in text and len(formats) == 9)


def test_tensors_that_autograd_knows(cuda: FakeCuda, torch: FakeTorch) -> None:
    add = make_add()
    arrays = three()
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in arrays)
    taught(lambda: add[(7,)](x, y, z, 16))
    torch.noted.clear()
    x.requires_grad = True
    reads, asked = torch.reads, torch.asked
    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16)) and torch.noted == [z], "of inputs nothing is asked"
    assert (torch.reads > reads) != (torch.asked > asked), "one of the two ways"
    z.requires_grad, z.is_leaf = True, True  # type: ignore[attr-defined]
    torch.noted.clear()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        add[(7,)](x, y, z, 16)
    assert not torch.noted
    z.requires_grad = False
    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16)) and torch.noted == [z]
    z.broken = True
    assert not by_code(cuda, lambda: add[(7,)](x, y, z, 16)), "a tensor that cannot be read"


@pytest.mark.parametrize("torch", ["cells"], indirect=True)
def test_outputs_of_inference_mode(cuda: FakeCuda, torch: FakeTorch) -> None:
    """They count no versions. Of other classes than torch's own Python is asked."""
    class Parameter(Tensor):
        pass

    add, arrays = make_add(), three()
    for kind in (Tensor, Parameter):
        x, y, z = (kind(a.pointer, (100,), (1,)) for a in arrays)
        taught(lambda args=(x, y, z): add[(7,)](*args, 16))
        z.inference = True
        torch.noted.clear()
        assert by_code(cuda, lambda args=(x, y, z): add[(7,)](*args, 16))
        assert torch.noted == ([] if kind is Tensor else [z])


@pytest.mark.parametrize("torch", ["handles"], indirect=True)
def test_tensors_as_they_are_seldom(cuda: FakeCuda, torch: FakeTorch) -> None:
    """Those of inference mode count no versions; a negated one is refused, by Python."""
    add = make_add()
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in three())
    taught(lambda: add[(7,)](x, y, z, 16))
    torch.noted.clear()
    z.inference = True
    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16)) and not torch.noted
    y.negated, called = True, cuda.called
    with pytest.raises(TypeError, match="negated"):
        add[(7,)](x, y, z, 16)
    assert cuda.called == called


def test_torchs_stream(cuda: FakeCuda, torch: FakeTorch) -> None:
    add = make_add()
    arrays = three()
    args = *(Tensor(a.pointer, (100,), (1,)) for a in arrays), 16
    bound = add.bind(7, *args)
    taught(lambda: add[(7,)](*args))
    taught(bound)
    for stream in (0, 11, 12):
        torch.stream = stream
        for launch in (lambda: add[(7,)](*args), bound):
            assert by_code(cuda, launch) and cuda.launches[-1].stream == stream


def test_bound_launches(cuda: FakeCuda, torch: FakeTorch) -> None:
    arrays = three()
    args: Any = (*(Tensor(a.pointer, (100,), (1,)) for a in arrays), 16)
    bound: Any = make_add().bind((2, 70000), *args)
    taught(bound)
    torch.noted.clear()
    assert by_code(cuda, bound) and cuda.launches[-1] == cuda.launches[0] and torch.noted == [args[2]]
    assert by_code(cuda, lambda: bound(stream=4)) and cuda.launches[-1].stream == 4
    for args_, named in (((1,), {}), ((), {"streams": 1}), ((), {"stream": "s"})):
        with pytest.raises(TypeError):
            bound(*args_, **named)
    assert bound.grid == (2, 70000, 1) and repr(bound).startswith("<bound launch")
    seen = weakref.ref(args[0])
    bound = args = None
    gc.collect()
    assert seen() is None


def test_versions_go_up_by_torchs_function(
    cuda: FakeCuda, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where torch gives handles, a bound launch raises the counters of what it writes without Python."""
    raised: list[int | None] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(raised.append)
    monkeypatch.setattr(words, "raising_function", lambda: ctypes.cast(function, ctypes.c_void_p).value)
    monkeypatch.setattr(words, "version_handles", lambda tensors: types.SimpleNamespace(
        addresses=[t.pointer for t in tensors]))
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in three())
    bound: Any = make_add().bind(7, x, y, z, 16)
    taught(bound)
    torch.noted.clear()
    raised.clear()
    assert by_code(cuda, bound) and by_code(cuda, bound) and raised == [z.pointer] * 2 and not torch.noted


def test_tensor_maps(cuda: FakeCuda) -> None:
    """A map belongs to an address: at another one Python encodes another map, and that is learnt too."""
    product = make_product()

    def some() -> list[Any]:
        return [tw.to_device(np.zeros((256, 256), np.float16)) for _ in range(3)]

    def maps() -> list[fake_cuda.TensorMap]:
        return [fake_cuda.TensorMap.unpack(p) for p in cuda.launches[-1].params if isinstance(p, bytes)]

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


def test_watchers_and_checks_see_every_launch(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    add = make_add()
    args = *three(), 16
    bound = add.bind(7, *args)
    taught(lambda: add[(7,)](*args))
    taught(bound)
    with tw.profile() as p:
        assert by_code(cuda, lambda: add[(7,)](*args)) and by_code(cuda, bound), "behind the watcher it is as fast"
        assert not by_code(cuda, lambda: add[(7,)](*three(96), 16))
    assert len(p.launches) == 3 and all(launch.device is not None for launch in p.launches)
    assert by_code(cuda, lambda: add[(7,)](*args)) and by_code(cuda, bound)
    from tilewright.launching.checking import checking

    before = len(cuda.launches)
    try:
        launcher.check_launches(checking(True, "collect"))
        add[(6,)](*args)
        bound()
    finally:
        launcher.check_launches(None)
    assert len(cuda.launches) == before


def test_many_shapes_are_forgotten(cuda: FakeCuda) -> None:
    """The oldest of many shapes goes back to Python, and is learnt again."""
    add = make_add()
    sets: list[Any] = [(*three(n), 16) for n in range(100, 100 + learning._MOST + 4)]
    for _ in range(2):
        for args in sets:
            taught(add[(7,)], *args)
            assert cuda.launches[-1].params[0] == args[0].pointer


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


def test_the_shapes_of_a_model_stay_known(cuda: FakeCuda) -> None:
    add = make_add()
    sets: list[Any] = [(*three(n), 16) for n in range(100, 120)]
    for args in sets:
        taught(add[(7,)], *args)
    assert all(by_code(cuda, add[(7,)], *args) for args in sets)


def test_threads(cuda: FakeCuda) -> None:
    add = make_add()
    sets: list[Any] = [(*three(100 + k), 16) for k in range(4)]
    taught(lambda: add[(7,)](*sets[0]))
    errors: list[BaseException] = []

    def run(k: int) -> None:
        try:
            for _ in range(200):
                add[(7,)](*sets[k])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    pointers = {args[0].pointer: 100 + k for k, args in enumerate(sets)}
    assert all(pointers[launch.params[0]] == launch.params[1] for launch in cuda.launches)


@pytest.mark.parametrize("refused", [0, 700])
def test_a_call_keeps_what_it_reads(cuda: FakeCuda, refused: int) -> None:
    """Another thread may teach a kernel more launches while the driver works: then its function is another one."""
    add, args = make_add(), (*three(), 16)
    grid: Any = add[(7,)]
    taught(grid, *args)
    head = weakref.ref(grid.func.__module__[0])
    seen: list[bool] = []

    def meanwhile() -> None:
        grid.__setstate__((print, (), {}, vars(grid)))
        gc.collect()
        seen.append(head() is not None)

    cuda.meanwhile, cuda.refused = meanwhile, refused
    launches = len(cuda.launches)
    grid(*args)
    assert len(cuda.launches) == launches + 1 and seen[0] and head() is None


@pytest.mark.parametrize("by_bindings", [False, True])
def test_events_are_made_ahead(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, by_bindings: bool) -> None:
    from tilewright.launching import records
    from tilewright.profiling import events

    for name, value in (("FIRST", 16), ("ENOUGH", 4), ("MORE", 4)):
        monkeypatch.setattr(events, name, value)
        monkeypatch.setattr(records, name, value, raising=False)
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    if by_bindings:
        monkeypatch.setattr(native, "ready", lambda: False)
        monkeypatch.setattr(native, "find", lambda: False)
    with tw.profile() as p:
        for _ in range(100):
            add[(7,)](*args)
    assert len(p.launches) == 100 and all(launch.device is not None for launch in p.launches)
    assert 201 <= len(cuda.events) < 300


def test_a_watched_launch_that_is_known_is_not_learnt_again(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch,
) -> None:
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    learnt: list[int] = []
    monkeypatch.setattr(learning.Learner, "learn", lambda self, describe: learnt.append(1))
    with tw.profile() as p:
        for _ in range(20):
            add[(7,)](*args)
    assert not learnt and len(p.launches) == 20
    other: Any = (*three(96), 16)
    with tw.profile() as p:
        for _ in range(20):
            add[(7,)](*other)
    assert learnt, "one that Python makes is"
