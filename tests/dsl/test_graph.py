"""`tw.graph()`: launches that are queued together, on a recorded driver and in the interpreter."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue.group_kernels import grouped
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.launched import make_add, three

import tilewright as tw
from tilewright.backend_ptx.runtime import tables


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def test_a_graph_queues_its_launches(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    bound = add.bind(7, x, y, z, 16)
    with tw.graph() as g:
        add[(7,)](x, y, z, 16)
        add[(0,)](x, y, z, 16)
        bound()
        tw.launch(5, (4,), add, (x, x, z, 32))
    assert not cuda.launches and not cuda.captured
    g()
    assert [launch.grid[0] for launch in cuda.launches] == [7, 7, 4] and {n.stream for n in cuda.launches} == {0}
    assert cuda.launches[0].params == cuda.launches[1].params == [n for a in (x, y, z) for n in (a.pointer, 100, 1)]
    g(stream=9)
    assert len(cuda.launches) == 6 and cuda.launches[-1].stream == 9
    with tw.profile() as p:
        g()
    assert len(p.launches) == 4, "a profile sees them one by one"


def some(*shapes: tuple[int, int]) -> list[Any]:
    return [tw.to_device(np.zeros(shape, np.float16)) for shape in shapes]


def graph_of_lists() -> tuple[Any, Any, Any]:
    """A graph of one grouped product, whose kernel takes lists of arrays: graph, kernel, lists."""
    args = some((72, 40), (8, 72)), some((40, 64), (72, 128)), some((72, 64), (8, 128))
    kernel = grouped.replace_hints()
    with tw.graph() as g:
        kernel[2](*args, 64, 128, 32)
    return g, kernel, args


def test_its_tables_live_as_long_as_the_graph(cuda: FakeCuda) -> None:
    g, kernel, _args = graph_of_lists()
    g()
    table = cuda.launches[0].params[0]
    kernel.launcher.gpu._plans.clear()
    gc.collect()
    assert table in cuda.memory and not tables._captured, "the graph owns it"
    del g, kernel
    gc.collect()
    assert table not in cuda.memory


def test_other_arrays(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pointers are exchanged in the graph that is there; where another kernel is needed it is made anew."""
    add = make_add()
    x, y, z = three()
    a, c, _ = three()
    with tw.graph() as g:
        add[(7,)](x, y, z, 16)
        add[(7,)](z, y, x, 16)
    executable = g._captured._executable
    g()
    g.update((x, a), (z, c))
    g()
    pointers = [launch.params[::3] for launch in cuda.launches]
    places = [[array.pointer for array in arrays] for arrays in ((x, y, z), (z, y, x), (a, y, c), (c, y, a))]
    assert pointers == places and cuda.updated == 1 and g._captured._executable is executable
    with tw.profile() as p:
        g()
    assert len(p.launches) == 2 and [launch.params[::3] for launch in cuda.launches[4:]] == places[2:]
    [longer, *_] = three(112)
    with monkeypatch.context() as patch:
        patch.setattr(cuda, "cuGraphExecUpdate", lambda *args: (fake_cuda.CUresult(910), None), raising=False)
        g.update((c, longer))
    g()
    assert cuda.launches[-2].params[6:8] == [longer.pointer, 112] and g._captured._executable is not executable
    host, wide = np.zeros(100, np.float32), tw.to_device(np.zeros(100, np.float64))
    wrong: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "no launch of the graph takes the array that change 1 replaces", ((longer, c), (x, a))),
        (TypeError, "a change is a pair of arrays, the old one and the new one, not DeviceArray", (c,)),
        (ValueError, "argument .x. is in host memory, but .y. is on GPU 0", ((a, host),)),
        (tw.TileTypeError, "float64 is not converted to float32", ((a, c), (longer, wide))),
    ]
    for error, text, changes in wrong:
        with pytest.raises(error, match=text):
            g.update(*changes)
    g()
    assert cuda.launches[-2:] == cuda.launches[-4:-2], "an error leaves the graph as it was"
    with pytest.raises(RuntimeError, match="update it behind the `with`"):
        tw.graph().update((x, y))


def test_lists_get_other_arrays(cuda: FakeCuda) -> None:
    g, kernel, args = graph_of_lists()
    g()
    [other] = some((8, 72))
    g.update((args[0][1], other))
    g()
    before, after = (launch.params[0] for launch in cuda.launches)
    kernel.launcher.gpu._plans.clear()
    gc.collect()
    assert before != after and before not in cuda.memory and after in cuda.memory and args[0][1] is not other


def test_errors(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    host = np.zeros(100, np.float32)
    with pytest.raises(ValueError, match="run in one place, but one is on GPU 0 and one of add is not"), tw.graph():
        add[7](x, y, z, 16)
        add[7](host, host, host, 16)
    with pytest.raises(TypeError, match="takes 4 arguments"), tw.graph():
        add[7](x, y, z, 16, 17)
    with pytest.raises(ZeroDivisionError), tw.graph() as g:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="the graph has no launches yet"):
        g()
    with tw.graph() as g:
        add[7](x, y, z, 16)
    with pytest.raises(RuntimeError, match="this graph has its launches"), g:
        pass
    assert not cuda.launches
    add[7](x, y, z, 16)
    assert len(cuda.launches) == 1, "launches run again"


def test_in_the_interpreter() -> None:
    x = np.ones(8, np.float32)
    add = make_add()
    with tw.graph() as g:
        add[2](x, x, x, 4)
        add[2](x, x, x, 4)
    assert (x == 1).all()
    g()
    g()
    assert (x == 16).all()
    y = np.ones(8, np.float32)
    g.update((x, y))
    g()
    assert (x == 16).all() and (y == 4).all()


def test_what_was_copied_is_there(cuda: FakeCuda) -> None:
    """A copy from pageable memory may return before its last bytes arrive, which other streams would read."""
    tw.to_device(np.zeros(4, np.float32))
    assert cuda.synchronised == [0]
