"""The launcher in machine code held against Python's: a stand-in for torch's tensors on a recorded driver."""

from __future__ import annotations

import ctypes
import gc
import random
import types
import weakref
from contextlib import nullcontext
from typing import Any

import pytest
from support.fake_cuda import FakeCuda
from support.fake_torch import FakeTorch, Tensor
from support.launched import make_add, three
from support.learnt import by_code, taught

import tilewright as tw
from tilewright.launching import learning, native, words

pytestmark = pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")


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


@pytest.mark.parametrize("way", ["launch", "bound", "profile"])
def test_a_thread_without_a_context(cuda: FakeCuda, torch: FakeTorch, way: str) -> None:
    """torch is told once of what is written, whoever makes the launch that the driver has refused."""
    add, arrays = make_add(), three()
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in arrays)
    bound = add.bind((7,), x, y, z, 16)
    launch = bound if way == "bound" else lambda: add[(7,)](x, y, z, 16)
    taught(launch)
    with tw.profile() if way == "profile" else nullcontext():
        for _ in range(4):
            launch()
        torch.noted.clear()
        cuda.context = 0
        assert by_code(cuda, launch) and torch.noted == [z] and cuda.context


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


@pytest.mark.parametrize("torch", ["cells"], indirect=True)
def test_the_cell(cuda: FakeCuda, torch: FakeTorch) -> None:
    """What is written is in it when it is read, and nothing stays in it, whoever makes the launch."""
    add = make_add()
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in three())
    taught(lambda: add[(7,)](x, y, z, 16))
    torch.read_in_cell.clear()
    loads = torch.loads
    assert by_code(cuda, lambda: add[(7,)](x, y, z, 16)) and torch.read_in_cell == [False, False, True]
    assert not torch.cell[0] and torch.loads == loads + 1, "it is in the cell until its version is raised"
    for out in (Tensor(z.pointer, (96,), (1,)), x):
        assert not by_code(cuda, lambda out=out: add[(7,)](x, y, out, 16)) and not torch.cell[0]
    with pytest.raises(TypeError):
        add[(7,)](x, y, z, 16, stream=types.SimpleNamespace(cuda_stream="7"))
    assert not torch.cell[0]


@pytest.mark.parametrize("torch", ["cells"], indirect=True)
def test_another_launch_takes_the_cell(cuda: FakeCuda, torch: FakeTorch) -> None:
    """One that begins while the output of this one is read leaves the cell empty: the output goes into it again."""
    add = make_add()
    x, y, z = (Tensor(a.pointer, (100,), (1,)) for a in three())
    other = Tensor(three()[2].pointer, (100,), (1,))
    taught(lambda: add[(7,)](x, y, z, 16))
    torch.noted.clear()

    def meanwhile() -> None:
        if torch.cell[0] == id(z):
            torch.meanwhile = lambda: None
            add[(7,)](x, y, other, 16)

    torch.meanwhile = meanwhile
    add[(7,)](x, y, z, 16)
    assert torch.noted == [other, z] and not torch.cell[0]


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
