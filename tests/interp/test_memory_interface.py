"""Every access of the interpreter goes through the launch's memory, and says truly what it accesses."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalogue.all import one_per_kernel
from catalogue.case import Case
from support.interp_cases import full_grid
from support.memories import Elsewhere, ReadOnly, Recorder, Refused

import tilewright as tw
import tilewright.backend_ptx.ops
from tilewright.interp import ExecutionOptions, Memory, compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.parser import parse

RARE = {
    "hopper-gathered", "hopper-gathered-in-2", "hopper-attention-8-warps", "hopper-rows-kn-in-2", "rows-softmax-in-2",
    "rows-walked-in-2", "rows-parts-in-4",
}


def some_of_each_family() -> list[Case]:
    """A case of each family of kernels, by the first word of their names, two of those with tags, and what reaches
    the rarer machine ops."""
    seen: Counter[str] = Counter()
    chosen = []
    for case in one_per_kernel():
        family = case.name.split("-")[0].split()[0]
        seen[family] += 1
        first = seen[family] <= (2 if case.tags else 1)
        if (first or case.name in RARE) and case.name != "stencil_0":  # that one stores nothing
            chosen.append(case)
    return chosen


CASES = some_of_each_family()


@functools.cache
def ir_of(case: Case) -> Function:
    return case.kernel.lower(*case.args(), target="sm_90a").tile_ir()


@functools.cache
def machine_ir(case: Case) -> Function | None:
    """What the backend makes for sm_90a, clusters included; read back from its text, as a user would run a dump."""
    try:
        return parse(str(case.kernel.lower(*case.args(), target="sm_90a").machine_ir()))
    except TileUnsupportedFeatureError:
        return None


def run_on(memory: Memory, case: Case, function: Function, mode: str = "chunked") -> list[np.ndarray]:
    """The outputs of a case."""
    args = case.args()
    values = case.kernel.lower(*args).values
    compile_function(function).run(full_grid(case.grid), values, ExecutionOptions(mode=mode, memory=memory))
    if isinstance(memory, Elsewhere):
        memory.finish()
    return [np.asarray(a) for a in case.results(args)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_all_contents_may_lie_elsewhere(case: Case) -> None:
    function = ir_of(case)
    machine = machine_ir(case)
    runs = [(function, "chunked"), (function, "single"), *([(machine, "chunked")] if machine else [])]
    for program, mode in runs:
        memory = Elsewhere()
        got = run_on(memory, case, program, mode)
        assert memory.accesses or 0 in case.grid
        case.check(got, case.reference(*case.args()), f"memory elsewhere, {mode}")


def test_an_access_past_the_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same store, made by the handler itself."""
    monkeypatch.setattr(Elsewhere, "write", lambda self, region, values, op: region.write(values))
    case = next(c for c in CASES if c.name.startswith("mul"))
    with pytest.raises(AssertionError, match="did not go through the memory"):
        run_on(Elsewhere(), case, ir_of(case))


EVERY_KIND = {
    "load", "store", "gather", "scatter", "atomic_rmw", "atomic_cas", "shared_load", "shared_store", "async_load",
    "async_gather", "tma_load", "tma_store", "wgmma", "cluster_exchange", "slice_array", "raw_view",
}


def test_every_kind_of_access_is_among_them() -> None:
    used = {op.opcode for case in CASES for part in (ir_of(case), machine_ir(case)) if part for op in part.walk()}
    assert EVERY_KIND - used == set()


def everything(x, y, table, total, items, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, 4))                          # 1
    view = x.slice(1, 1, 3)
    u = tw.load(view, (i, 0), (1, 2))                       # 3
    g = tw.gather(table, (tw.arange(4, dtype=tw.int32) + i,))   # 4
    tw.scatter(y, (tw.arange(4, dtype=tw.int32) * 2,), g, mask=tw.arange(4, dtype=tw.int32) < 3)  # 5
    tw.atomic_add(total, 0, 1.0)                            # 6
    tw.atomic_cas(total, 1, 0.0, 5.0)                       # 7
    first = tw.load(items[1], (0,), (4,))                   # 8
    tw.store(out, (i, 0), t + first.reshape((1, 4)) + tw.sum(u))        # 9


LINES, FIRST = inspect.getsourcelines(everything)
BODY = FIRST + next(n for n, text in enumerate(LINES) if "tw.bid(0)" in text)


def arguments() -> list[Any]:
    f = np.float32
    return [np.ones((3, 6), f), np.zeros(8, f), np.arange(5, dtype=f), np.zeros(2, f), [np.ones(4, f), np.ones(3, f)],
            np.zeros((3, 4), f)]


def run_everything(memory: Memory, mode: str) -> list[Any]:
    args = arguments()
    function = tw.tile_kernel(everything).lower(*args).tile_ir(passes=False)
    compile_function(function).run((3, 1, 1), args, ExecutionOptions(mode=mode, memory=memory))
    return args


def test_a_recorder_sees_each_access_with_its_array_line_and_blocks() -> None:
    recorder = Recorder()
    run_everything(recorder, "single")
    seen = [(a.what, a.array, a.line - BODY, a.elements) for a in recorder.log if a.blocks == ((1, 0, 0),)]
    assert seen == [
        ("read", "x", 1, 4), ("read", "x", 3, 2), ("read", "table", 4, 4), ("write", "y", 5, 3),
        ("update add", "total", 6, 1), ("update cas", "total", 7, 1), ("read", "items[1]", 8, 3),
        ("write", "out", 9, 4),
    ]
    assert len(recorder.log) == 3 * len(seen)
    # Block 2's gather ends outside of the table.
    assert next(a for a in recorder.log if a.blocks == ((2, 0, 0),) and a.opcode == "gather").elements == 3
    assert recorder.launches == [("everything", (3, 1, 1)), ("end", (0, 0, 0))]


def test_a_chunk_is_one_access_of_all_its_blocks() -> None:
    text = """
func @copy(%x: array<?xf32, strides=?>, %y: array<?xf32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %t: tile<4xf32> = load(array=%x, index=(%b), shape=(4), steps=(4), order=(0))
  store(array=%y, index=(%b), value=%t, steps=(4), order=(0))
  return()
}
"""
    recorder = Recorder()
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    compile_function(parse(text)).run((3, 1, 1), [x, y], ExecutionOptions(memory=recorder))
    blocks = ((0, 0, 0), (1, 0, 0), (2, 0, 0))
    assert [(a.what, a.array, a.blocks, a.elements) for a in recorder.log] == [
        ("read", "x", blocks, 10), ("write", "y", blocks, 10)]


def stores_of(case: Case, function: Function) -> set[str]:
    """Opcodes of ops that write, as a recorder sees them."""
    recorder = Recorder()
    run_on(recorder, case, function)
    return {a.opcode for a in recorder.log if a.what != "read"}


@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_a_memory_that_refuses_stops_every_kind_of_store(mode: str) -> None:
    stopped: set[str] = set()
    for case in (c for c in CASES if 0 not in c.grid):
        for function in (ir_of(case), machine_ir(case)):
            for opcode in stores_of(case, function) - stopped if function else ():
                assert function is not None and refused_by(case, function, ReadOnly(opcode), mode) == opcode
                stopped.add(opcode)
    assert stopped >= {"store", "scatter", "atomic_rmw", "atomic_cas", "tma_store", "shared_store", "async_load",
                       "async_gather", "tma_load", "cluster_exchange"}


def refused_by(case: Case, function: Function, memory: Memory, mode: str, args: Any = None) -> str:
    """The op at which a run stops."""
    args = args or case.args()
    values = case.kernel.lower(*args).values
    with pytest.raises(Refused) as caught:
        compile_function(function).run(full_grid(case.grid), values, ExecutionOptions(mode=mode, memory=memory))
    return caught.value.message.split()[0]


@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_read_only_arrays_stay_as_they_are(mode: str) -> None:
    for case in (c for c in CASES if 0 not in c.grid):
        args = case.args()
        refused_by(case, machine_ir(case) or ir_of(case), ReadOnly(), mode, args)
        untouched = [np.asarray(a).tobytes() for a in case.results(case.args())]
        assert [np.asarray(a).tobytes() for a in case.results(args)] == untouched


def test_a_refusal_names_the_users_line() -> None:
    with pytest.raises(Refused, match="scatter writes to y") as caught:
        run_everything(ReadOnly(), "chunked")
    assert caught.value.span is not None and caught.value.span.line == BODY + 5


def test_synchronisation_is_told() -> None:
    case = next(c for c in CASES if "hopper" in c.tags)
    recorder = Recorder()
    function = machine_ir(case)
    assert function
    run_on(recorder, case, function)
    assert {"mbarrier_wait", "mbarrier_arrive", "mbarrier_expect", "wgmma_wait"} <= set(recorder.synchronised)


def test_shared_buffers_follow_the_blocks_of_a_branch() -> None:
    """Some blocks of a chunk store to their buffers; all of them read afterwards."""
    text = """
func @branch(%y: array<?xf32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %one: i32 = constant(value=1, type=tile<i32>)
  %odd: i32 = and(lhs=%b, rhs=%one)
  %c: i1 = eq(lhs=%odd, rhs=%one)
  %s: shared<4xf32> = shared_alloc(type=shared<4xf32>)
  %zero: tile<4xf32> = constant(value=0x0p+0, type=tile<4xf32>)
  %seven: tile<4xf32> = constant(value=0x1.cp+2, type=tile<4xf32>)
  shared_store(buffer=%s, value=%zero)
  if(cond=%c) .then {
    shared_store(buffer=%s, value=%seven)
    yield(values=())
  } .orelse {
    yield(values=())
  }
  %t: tile<4xf32> = shared_load(buffer=%s, index=(), shape=(4))
  store(array=%y, index=(%b), value=%t, steps=(4), order=(0))
  return()
}
"""
    for mode in ("chunked", "single"):
        y = np.full(16, np.nan, np.float32)
        compile_function(parse(text)).run((4, 1, 1), [y], ExecutionOptions(mode=mode))
        assert y[::4].tolist() == [0, 7, 0, 7]


@pytest.mark.parametrize("limits", [{"chunk_blocks": 1}, {"chunk_bytes": 1}, {"chunk_blocks": 3}])
def test_options_limit_chunks(limits: dict[str, Any]) -> None:
    text = """
func @count(%y: array<?xi32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %t: tile<1xi32> = reshape(src=%b, shape=(1))
  store(array=%y, index=(%b), value=%t, steps=(1), order=(0))
  return()
}
"""
    recorder, y = Recorder(), np.zeros(8, np.int32)
    compile_function(parse(text)).run((8, 1, 1), [y], ExecutionOptions(memory=recorder, **limits))
    assert y.tolist() == list(range(8))
    most = 3 if limits.get("chunk_blocks") == 3 else 1
    assert max(len(a.blocks) for a in recorder.log) == most and sum(len(a.blocks) for a in recorder.log) == 8


def test_format_of_bfloat16_is_that_of_the_array() -> None:
    """Values are held as float32, offsets count bytes of the array."""
    seen: list[Any] = []

    class Offsets(Memory):
        def read(self, region: Any, op: Any) -> Any:
            seen.append(region.offsets())
            return super().read(region, op)

    @tw.tile_kernel
    def twice(x, y):
        tw.store(y, 0, tw.load(x, 0, 4) * 2)

    x = np.ones(8, ml_dtypes.bfloat16)[::2]
    args = [x, np.zeros(4, ml_dtypes.bfloat16)]
    compile_function(twice.lower(*args).tile_ir()).run((1, 1, 1), args, ExecutionOptions(memory=Offsets()))
    assert seen[0].tolist() == [0, 4, 8, 12]
