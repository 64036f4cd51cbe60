"""What the explorer's page says of a launch: the pipeline's timeline, the roofline, and a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.cli.reading import load_kernel, parse_args
from tilewright.estimating import estimate
from tilewright.inspecting.explorer import roofline, runs, timeline
from tilewright.inspecting.explorer.places import Numbering

EXAMPLES = Path(__file__).parents[2] / "examples"
PRODUCT = "bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64"


def lines_of(where: str, args: str, target: str) -> list[dict[str, Any]]:
    stages = load_kernel(f"{EXAMPLES}/{where}").lower(*parse_args(args), target=target)
    return timeline.timelines(stages.machine_ir(), stages.target, Numbering())


def test_a_ring_that_a_producer_fills() -> None:
    [line] = lines_of("matmul.py", PRODUCT, "sm_90a")
    assert (line["engine"], line["producer"], line["slots"], line["ahead"]) == ("TMA", True, 4, 4)
    assert line["tiles"] == ["x", "y"] and line["bytes"] == 2 * 64 * (128 + 256)
    assert line["pipe"] == "tensor cores" and line["work"] == line["cycles"]["tensor cores"] == 1024
    assert [role[0] for role in line["roles"]] == ["consumer", "producer"]


def test_a_ring_of_asynchronous_copies() -> None:
    [line] = lines_of("matmul.py", "f16[512,512], f16[512,512], f16[512,512], 128, 128, 32", "sm_80")
    assert (line["engine"], line["producer"], line["slots"], line["ahead"]) == ("cp.async", False, 4, 3)
    assert not line["roles"] and line["warps"] == 4
    assert lines_of("softmax.py", "f32[4096,1000], f32[4096,1000], 1024", "sm_90a") == []


@pytest.mark.parametrize(("slots", "ahead", "producer"), [(4, 4, True), (2, 2, True), (4, 3, False), (3, 2, False)])
@pytest.mark.parametrize(("busy", "work"), [(768, 1024), (1024, 768), (64, 132)])
def test_no_slot_is_filled_before_it_is_free(slots: int, ahead: int, producer: bool, busy: int, work: int) -> None:
    found = timeline.events(slots, ahead, busy, work, producer, 16)
    for k, event in enumerate(found):
        assert event["slot"] == k % slots and event["end"] - event["begin"] == work
        assert event["landed"] >= event["move"] + busy and event["begin"] >= event["landed"]
        if k:
            assert event["begin"] >= found[k - 1]["end"] and event["move"] >= found[k - 1]["move"] + busy
        if k >= slots:
            assert event["issue"] >= found[k - slots]["end"], "the slot is read until then"
    period = (found[-1]["begin"] - found[slots]["begin"]) / (15 - slots)
    assert period >= max(busy, work) - 1, "no pipe does more than it can"


def test_enough_slots_hide_the_latency() -> None:
    few, many = (timeline.events(n, n, 64, 132, True, 40)[-1]["end"] for n in (2, 8))
    assert many < few and many < 600 + 64 + 41 * 132


def test_the_roofline_is_that_of_the_estimate() -> None:
    kernel, args = load_kernel(f"{EXAMPLES}/matmul.py"), parse_args(PRODUCT)
    found = roofline.roofline(kernel.lower(*args, target="sm_90a"), (512, 1, 1))
    want = estimate(kernel, 512, *args, device="h200", machine=False)
    assert found["least"] == 3 * 4096 * 4096 * 2 and (found["least"], found["most"]) == want.dram_bytes
    first = found["devices"][0]
    assert first["name"] == "h200" and first["limit"] == want.limit == "compute" and first["seconds"] == want.seconds
    assert found["operations"]["tensor bf16"] == 2 * 4096**3
    assert {device["name"] for device in found["devices"]} >= {"h200", "a100", "l40"}
    older = roofline.roofline(kernel.lower(*args, target="sm_80"), (512, 1, 1))
    assert older["devices"][0]["name"] == "a100"


@tw.tile_kernel
def doubled(x, out, parts):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 64) * 2.0)
    tw.store(parts[1], i, tw.load(parts[0], i, 64))


def test_a_run_in_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.arguments.device_array.gpu_available", lambda: False)
    x, part = np.arange(128, dtype=np.float32), np.full(128, np.nan, np.float32)
    found = runs.run(doubled, (x, tw.spec("f32[128]"), [part, tw.spec("f32[128]")]), (2, 1, 1))
    assert found["device"] == "" and len(found["seconds"]) == 1 and found["seconds"][0] > 0 and found["random"]
    out = {one["name"]: one for one in found["arrays"]}
    assert (out["out"]["least"], out["out"]["most"], out["out"]["mean"]) == (0.0, 254.0, 127.0)
    assert out["out"]["first"][:3] == [0.0, 2.0, 4.0] and out["out"]["strange"] == 0
    assert out["parts[1]"]["strange"] == 128 and out["parts[1]"]["first"][0] == "nan"


def test_what_cannot_be_run_says_why() -> None:
    x = tw.spec("f32[?]")
    assert "grid" in runs.launched(doubled, (x, x, [x, x]), None)["error"]
    assert "numbers in place of ?" in runs.launched(doubled, (x, x, [x, x]), (2, 1, 1))["error"]


def test_run_and_roofline_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.arguments.device_array.gpu_available", lambda: False)
    page = tmp_path / "page.html"
    args = "f32[1000], f32[1000], f32[1000], 256"
    assert main(["explore", f"{EXAMPLES}/vector_add.py", "--args", args, "--grid", "4", "--run", "--target", "sm_80",
                 "-o", str(page)]) == 0
    shown = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])["views"]
    assert shown["run"]["arrays"][0]["name"] == "out" and shown["roofline"]["least"] == 3 * 4000
    assert shown["timelines"] == [] and shown["intervals"] == []


def test_a_recording_is_explored(tmp_path: Path) -> None:
    """The page of one launch has the picture of all; names that could end a script element are escaped."""
    @tw.tile_kernel
    def double(x, out):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 4) * 2)

    x, out, other = np.arange(8), np.zeros(8, np.int64), np.zeros(8, np.int64)
    with tw.fuse() as g:
        double[(2,)](x, out)
        double[(1,)](out, other)
        with pytest.raises(RuntimeError, match="look at them behind it"):
            g.explore(tmp_path / "page.html")
    file = g.explore(tmp_path / "page.html", launch=1, target="sm_80")
    text = file.read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    fused = data["views"]["fused"]
    assert fused["picture"] == g.picture() and fused["explained"] == g.explain()
    assert (fused["launch"], fused["launches"]) == (1, 2) and "double for sm_80" in text
    with pytest.raises(IndexError):
        g.explore(file, launch=2)
    assert file.read_text() == text
