"""`tilewright estimate --sweep` and `--plot`: sizes in the place of a name, and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.main import main
from tilewright.estimating import roofline
from tilewright.estimating.sweep import Sweep, parse_sweep, put
from tilewright.tileir.diagnostics import TileValueError

ADD = f"{Path(__file__).parents[3]}/examples/vector_add.py"
WORDS = ["estimate", ADD, "--grid", "N/256", "--args", "f32[N], f32[N], f32[N], 256"]


def test_numbers_of_a_sweep() -> None:
    assert parse_sweep("N=1024, 4096") == ("N", (1024, 4096))
    assert parse_sweep(" rows = 8:100 ") == ("rows", (8, 16, 32, 64))
    for wrong in ("N", "N=", "N=0", "N=4:2", "N=0:8", "N=1,-2", "4=4", "N=1.5", f"N={','.join(['1'] * 65)}"):
        with pytest.raises(TileValueError, match="--sweep takes"):
            parse_sweep(wrong)


@pytest.mark.parametrize(("text", "found"), [
    ("bf16[N,N], f32[N], 128", "bf16[1000,1000], f32[1000], 128"), ("f32[2*N - 1,NN]", "f32[1999,NN]"),
    ("N/256", "4"), ("(N/128)*(N/256), 3", "32, 3"), ("i32[4], 7", "i32[4], 7"),
    ("f32[1,N] strides=[N+24,1], N", "f32[1,1000] strides=[1024,1],1000")])
def test_what_stands_for_the_name(text: str, found: str) -> None:
    assert put(text, Sweep("N", (1000,)), 1000) == found


@pytest.mark.parametrize("text", ["f32[N**2]", "f32[N.real]", "f32[f(N)]", "N/0", "f32[N M]", "f32[1.5*N]"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(TileValueError, match="is no size: N, numbers"):
        put(text, Sweep("N", (8,)), 8)


def test_a_line_for_each_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--sweep", "N=1000,33554432"]) == 0
    title, _, head, small, large, *_ = capsys.readouterr().out.splitlines()
    assert title == "vector_add on NVIDIA H200 SXM (sm_90a)" and head.split()[:3] == ["N", "CTAs", "waves"]
    assert small.split()[:4] == ["1000", "4", "0.00", "12"] and large.split()[:2] == ["33554432", "131072"]
    assert "403 MB" in large and "bandwidth" in large and "100 %" in large
    assert main([*WORDS, "--sweep", "N=1000,2000", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["command"] == "estimate" and data["sweep"]["name"] == "N"
    assert [(point["N"], point["grid"][0], point["flops"], point["machine"]["ctas"])
            for point in data["sweep"]["points"]] == [(1000, 4, 1024, 4), (2000, 8, 2048, 8)]


def test_a_name_that_nobody_uses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", ADD, "--grid", "4", "--args", "f32[9], f32[9], f32[9], 256", "--sweep", "N=4"]) == 2
    assert "--sweep N: neither --args nor --grid has N" in capsys.readouterr().err


class Drawn:
    """What is drawn, in the place of matplotlib."""

    def __init__(self) -> None:
        self.roofs: list[str] = []
        self.points: list[tuple[float, float]] = []
        self.names: list[str] = []
        self.closed = False

    def subplots(self, **more: Any) -> tuple[Drawn, Drawn]:
        return self, self

    def plot(self, x: Any, y: Any, style: str, *, color: str, label: str) -> None:
        assert len(x) == len(y)
        self.roofs.append(label.split(":")[0])

    def scatter(self, x: list[float], y: list[float], **more: Any) -> None:
        self.points.append((x[0], y[0]))

    def annotate(self, name: str, *where: Any, **more: Any) -> None:
        self.names.append(name)

    def set(self, **more: str) -> None:
        assert more["xscale"] == more["yscale"] == "log" and more["xlabel"] and more["ylabel"]

    def grid(self, *args: Any, **more: Any) -> None:
        pass

    def legend(self) -> None:
        pass

    def savefig(self, path: Path, **more: Any) -> None:
        path.write_bytes(b"picture")

    def close(self, figure: Drawn) -> None:
        self.closed = True


def test_the_roofline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = Drawn()
    monkeypatch.setattr(roofline, "pyplot", lambda: drawn)
    picture = tmp_path / "roof.png"
    assert main([*WORDS, "--sweep", "N=4096:16384", "--plot", str(picture)]) == 0
    assert f"wrote {picture}" in capsys.readouterr().out and picture.read_bytes() == b"picture"
    assert drawn.names == ["N = 4096", "N = 8192", "N = 16384"] and drawn.roofs == ["f32"] and drawn.closed
    # A twelfth of an operation a byte: the points lie on the roof of memory.
    assert all(x == pytest.approx(1 / 12) and y == pytest.approx(4280.4e9 / 12 / 1e12) for x, y in drawn.points)
    assert main(["estimate", ADD, "--grid", "16", "--args", "f32[4096], f32[4096], f32[4096], 256", "--plot",
                 str(picture), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plot"] == str(picture) and drawn.names[-1] == "vector_add"


def test_a_kernel_without_operations_is_no_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = f"{Path(__file__).parents[3]}/examples/transpose.py:transpose"
    words = ["estimate", where, "--grid", "2,2", "--args", "f32[64,64], f32[64,64], 32, 32"]
    assert main([*words, "--plot", str(tmp_path / "x.png")]) == 2
    assert "it is no point of a roofline" in capsys.readouterr().err
