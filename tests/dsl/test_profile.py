"""Profiles: what they record, in the interpreter and on a fake GPU, and what they leave behind."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda

import tilewright as ct
from tilewright.cli.main import main
from tilewright.estimating.devices import limits_of_gpu
from tilewright.launching import log, watching
from tilewright.launching.launcher import Launcher
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.events import LISTENERS


@ct.tile_kernel
def double(x):
    i = ct.bid(0)
    ct.store(x, i, ct.load(x, i, 128) * 2.0)


@ct.tile_kernel
def add(x, y, out, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, n) + ct.load(y, i, n))


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    assert Launcher.launch.__code__ is watching.PLAIN
    yield
    assert Launcher.launch.__code__ is watching.PLAIN and not LISTENERS


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_cuda.FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, "0")


def test_launches_of_the_interpreter() -> None:
    x, y = np.ones(1024, np.float32), np.ones(1024, np.float32)
    bound = double[(8,)]
    with ct.profile(device="a100") as p:
        for _ in range(3):
            bound(x)
        add[(4,)](x, y, y, 256)
        ct.launch(None, (8,), double, (x,))
    bound(x)
    by_name = {row.kind.kernel: row for row in p.rows}
    assert len(p.launches) == 5 and by_name["double"].launches == 4 and by_name["add"].launches == 1
    row = by_name["add"]
    assert row.kind.specialisation == "f32[1024], f32[1024], f32[1024], 256"
    assert row.kind.executor == "interpreter" and row.device is None and row.host > 0
    assert row.estimate is not None
    assert (row.estimate.flops, row.estimate.bytes_written) == (1024, {"x": 0, "y": 0, "out": 4096})
    assert row.estimate.device.name == "a100"
    assert (x == 32).all()
    text = str(p)
    assert text.startswith("5 launches of 2 kernels in ")
    assert "(f32[1024], f32[1024], f32[1024], 256)" in text and "NVIDIA A100" in text


def test_compilations_lie_inside_their_launches() -> None:
    @ct.tile_kernel
    def new(x):
        ct.store(x, 0, ct.load(x, 0, 8) + 1.0)

    with ct.profile() as p:
        new[(1,)](np.zeros(8, np.float32))
    [event] = p.events
    [launch] = p.launches
    assert (event.kind, event.name, event.facts) == ("compile", "new", {"executor": "interpreter"})
    assert launch.start <= event.start < event.end <= launch.end


def test_nested_profiles_and_any_order_of_their_ends() -> None:
    x = np.ones(128, np.float32)
    outer, inner = ct.profile(), ct.profile()
    with outer:
        double[(1,)](x)
        inner.__enter__()
        double[(1,)](x)
    double[(1,)](x)
    inner.__exit__(None, None, None)
    assert (len(outer.launches), len(inner.launches)) == (2, 2)
    with pytest.raises(RuntimeError, match="this profile has been used"), outer:
        pass


def test_launches_of_other_threads() -> None:
    def work() -> None:
        for _ in range(50):
            double[(1,)](np.ones(128, np.float32))

    threads = [threading.Thread(target=work) for _ in range(4)]
    with ct.profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [row.launches for row in p.rows] == [200]
    assert {launch.thread for launch in p.launches} == {thread.ident for thread in threads}


def test_an_exception_leaves_a_profile() -> None:
    x = np.ones(128, np.float32)
    with pytest.raises(TileTypeError), ct.profile() as p:
        double[(1,)](x)
        double[(1,)](np.ones((2, 2), np.float32))
    assert [launch.failed for launch in p.launches] == [False, True]
    assert "note: 1 launch failed" in str(p)
    with pytest.raises(TypeError), ct.profile() as p:
        double[(1,)]("x")
    assert [row.kind.specialisation for row in p.rows] == ["?"]
    assert p.rows[0].estimate is None and json.dumps(p.as_data())


def fresh() -> tuple[Any, Any]:
    """The two kernels, never compiled before."""
    return double.replace_hints(), add.replace_hints()


def test_times_of_the_gpu(cuda: fake_cuda.FakeCuda) -> None:
    double, add = fresh()
    cuda.step_ms = lambda: 0.25
    x, y = (ct.to_device(np.ones(4096, np.float32)) for _ in range(2))
    with ct.profile(device="h100") as p:
        for _ in range(3):
            add[(16,)](x, x, y, 256)
        double[(32,)](y, stream=7)
    assert [(row.kind.kernel, row.launches) for row in p.rows] == [("add", 3), ("double", 1)]
    assert [row.device for row in p.rows] == [750_000, 250_000]
    assert {launch.stream for launch in p.launches} == {0, 7}
    assert p.rows[0].kind.executor == "Fake GPU" and len(cuda.launches) == 4
    data = p.as_data()
    assert data["kernels"][0]["device_seconds"] == pytest.approx(0.00075)
    assert data["kernels"][0]["reached"] == pytest.approx(p.rows[0].estimate.seconds / 0.00025)  # type: ignore[union-attr]
    assert [event["facts"]["cache"] for event in data["events"] if event["kind"] == "compile"] == ["off", "off"]
    text = str(p)
    assert "1 ms of it on the GPU" in text and "75 %" in text
    head, first, arguments = text.splitlines()[1:4]
    assert head.split() == "kernel launches GPU time share a launch a call memory work reached".split()
    assert first.startswith("add[16] ") and "MB/s, under 1 %" in first, "a name and its numbers stay in one line"
    assert arguments.startswith("  (f32[4096], f32[4096],")


def test_a_kernel_that_fails_on_the_gpu(cuda: fake_cuda.FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    double, _ = fresh()
    x = ct.to_device(np.ones(4096, np.float32))
    with ct.profile() as p:
        double[(32,)](x)
        monkeypatch.setattr(cuda, "cuCtxSynchronize", lambda: (fake_cuda.CUresult.CUDA_ERROR_LAUNCH_FAILED,),
                            raising=False)
    assert p.broken and p.launches[0].device is None
    assert "a kernel failed on the GPU" in str(p)


def test_memory_operations(cuda: fake_cuda.FakeCuda) -> None:
    with ct.profile() as p:
        ct.to_device(np.ones(1024, np.float32)).to_host()
    assert [(event.kind, event.name) for event in p.events] == [
        ("memory", "allocate"), ("memory", "copy to the GPU"), ("wait", "all work of the GPU"),
        ("memory", "copy from the GPU")]
    assert "copy to the GPU: 1 time, 4.10 kB" in str(p)


def test_a_trace(cuda: fake_cuda.FakeCuda, tmp_path: Path) -> None:
    """It parses back; slices of a track nest, begin at no time before the profile, and arrows join two slices."""
    double, add = fresh()
    x, y = (ct.to_device(np.ones(4096, np.float32)) for _ in range(2))
    with ct.profile() as p:
        for stream in (0, 0, 7):
            add[(16,)](x, x, y, 256, stream=stream)
            double[(32,)](y, stream=stream)
        double[(1,)](np.ones(128, np.float32))
    p.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len([s for s in slices if s["cat"] == "kernel"]) == 6
    assert len([s for s in slices if s["cat"] == "launch"]) == 7
    assert any(s["cat"] == "compile" for s in slices)
    tracks: dict[Any, list[Any]] = defaultdict(list)
    for s in slices:
        assert s["ts"] >= 0 and s["dur"] >= 0
        tracks[s["pid"], s["tid"]].append(s)
    for track in tracks.values():
        check_nesting(track)
    for kind in "sf":
        arrows = [event for event in events if event["ph"] == kind]
        assert sorted(a["id"] for a in arrows) == list(range(6))
        for arrow in arrows:
            assert any(s["ts"] <= arrow["ts"] <= s["ts"] + s["dur"] for s in tracks[arrow["pid"], arrow["tid"]])
    named = {(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    assert {("thread_name", *track) for track in tracks} <= named


def check_nesting(track: list[Any]) -> None:
    """Each slice lies in the one that is open when it begins, or begins after its end."""
    open_ends: list[float] = []
    for s in sorted(track, key=lambda s: (s["ts"], -s["dur"])):
        while open_ends and open_ends[-1] <= s["ts"] + 1e-6:
            open_ends.pop()
        end = s["ts"] + s["dur"]
        assert not open_ends or end <= open_ends[-1] + 2e-3, s
        open_ends.append(end)


@ct.tile_kernel
def product(a, b, c, n: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((n, n), ct.float32)
    for k in range(ct.cdiv(a.shape[1], n)):
        acc = ct.mma(ct.load(a, (i, k), (n, n)), ct.load(b, (k, j), (n, n)), acc)
    ct.store(c, (i, j), acc)


@ct.tile_kernel
def relu(x, out, n: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (i, j), ct.maximum(ct.load(x, (i, j), (n, n)), 0.0))


@ct.tile_kernel
def relu_gradient(x, grad, out, n: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (i, j), ct.where(ct.load(x, (i, j), (n, n)) > 0.0, ct.load(grad, (i, j), (n, n)), 0.0))


@ct.tile_kernel
def turn(x, out, n: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (j, i), ct.transpose(ct.load(x, (i, j), (n, n))))


@ct.tile_kernel
def descend(w, grad, rate: float, n: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(w, (i, j), ct.load(w, (i, j), (n, n)) - rate * ct.load(grad, (i, j), (n, n)))


def training_step(place: Any, layers: int = 3, size: int = 32, tile: int = 16) -> int:
    """A step of a few layers, forward, backward and the descent; how many launches that were."""
    kernels = [kernel.replace_hints() for kernel in (product, relu, relu_gradient, turn, descend)]
    multiply, rectify, back, transpose, update = (kernel[size // tile, size // tile] for kernel in kernels)
    rng = np.random.default_rng(0)
    made = [place((0.1 * rng.standard_normal((size, size))).astype(np.float32)) for _ in range(layers + 5)]
    weights, (x, hidden, grad, other, turned) = made[:layers], made[layers:]
    for w in weights:
        multiply(x, w, hidden, tile)
        rectify(hidden, x, tile)
    for w in weights:
        back(hidden, x, grad, tile)
        transpose(x, turned, tile)
        multiply(turned, grad, other, tile)
        update(w, other, 0.01, tile)
    return 6 * layers


KEYS = {"X": {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"}, "M": {"name", "ph", "pid", "tid", "args"},
        "s": {"name", "cat", "id", "ph", "pid", "tid", "ts"},
        "f": {"name", "cat", "id", "ph", "bp", "pid", "tid", "ts"}}


@pytest.mark.parametrize("where", ["interpreter", "gpu"])
def test_the_trace_of_a_training_step(where: str, cuda: fake_cuda.FakeCuda, tmp_path: Path) -> None:
    """Every event has the fields of its kind, of their types; slices nest, and their times are those of the records."""
    cuda.step_ms = lambda: 0.125
    with ct.profile() as p:
        launches = training_step(ct.to_device if where == "gpu" else lambda x: x)
    p.save_trace(tmp_path / "step.json")
    trace = json.loads((tmp_path / "step.json").read_text())
    assert set(trace) == {"traceEvents", "displayTimeUnit"}
    tracks: dict[Any, list[Any]] = defaultdict(list)
    for event in trace["traceEvents"]:
        assert set(event) == KEYS[event["ph"]] and isinstance(event["name"], str)
        assert all(type(event[key]) is int for key in ("pid", "tid")) and isinstance(event.get("args", {}), dict)
        assert all(isinstance(event[key], int | float) and event[key] >= 0 for key in ("ts", "dur") if key in event)
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for track in tracks.values():
        check_nesting(track)
    slices = {kind: [s for track in tracks.values() for s in track if s["cat"] == kind]
              for kind in ("launch", "kernel", "compile")}
    assert len(slices["launch"]) == launches == len(p.launches) and len({s["name"] for s in slices["launch"]}) == 5
    for s, launch in zip(slices["launch"], p.launches, strict=True):
        assert s["dur"] == pytest.approx((launch.end - launch.start) / 1000, abs=2e-3)
        assert s["ts"] == pytest.approx((launch.start - p.start) / 1000, abs=2e-3)
    for s in slices["compile"]:
        assert any(o["ts"] - 2e-3 <= s["ts"] and s["ts"] + s["dur"] <= o["ts"] + o["dur"] + 2e-3
                   for o in slices["launch"]), "what is compiled lies in the launch that asked for it"
    assert len(slices["kernel"]) == (launches if where == "gpu" else 0)
    assert all(s["dur"] == 125.0 and s["args"]["bytes"] > 0 for s in slices["kernel"])
    end = max(s["ts"] + s["dur"] for s in slices["launch"])
    assert 0 < end <= 1e6 * p.seconds + 1


def test_gpus_by_the_names_of_drivers() -> None:
    found = {name: limits_of_gpu(name) for name in (
        "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA RTX PRO 6000 Blackwell Workstation",
        "NVIDIA T4")}
    assert [None if limits is None else limits.name for limits in found.values()] == [
        "h200", "h100", "a100", "rtx-pro-6000", None]


SCRIPT = """
import sys
import numpy as np
import tilewright as ct

@ct.tile_kernel
def halve(x):
    i = ct.bid(0)
    ct.store(x, i, ct.load(x, i, 16) * 0.5)

x = np.ones(64, np.float32)
for _ in range(int(sys.argv[1])):
    halve[(4,)](x)
print("the script's own words")
if len(sys.argv) > 2:
    raise KeyError("late")
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, trace = tmp_path / "script.py", tmp_path / "trace.json"
    script.write_text(SCRIPT)
    assert main(["profile", str(script), "--args", "3", "--gpu", "l40", "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 launches of 1 kernel in ") and "NVIDIA L40" in out and f"wrote {trace}" in out
    assert json.loads(trace.read_text())["traceEvents"]
    assert main(["profile", str(script), "--args", "2 more", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["kernels"][0]["launches"] == 2 and data["kernels"][0]["estimate"]["flops"] == 64
    assert data["stopped"]["type"] == "KeyError"


def test_the_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TILEWRIGHT_LOG", "launch")
    log.start_if_wanted.cache_clear()

    @ct.tile_kernel
    def logged(x):
        ct.store(x, 0, ct.load(x, 0, 8) + 1.0)

    try:
        for _ in range(2):
            logged[(1, 2)](np.zeros(8, np.float32))
        with pytest.raises(TypeError):
            logged[(1,)]("no array")
    finally:
        watching.unwatch(log._log)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("tilewright: launch logged[1x2x1](f32[8]) on the interpreter: compiled in ")
    assert second == "tilewright: launch logged[1x2x1](f32[8]) on the interpreter: compiled before"
    assert third == "tilewright: launch logged[1x1x1](?) on ?: failed: TypeError"


def test_a_log_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_LOG", "launches")
    with pytest.raises(RuntimeError, match="TILEWRIGHT_LOG lists launches; there is only launch"):
        log.wanted()
