"""`kernel.simulate` and `tilewright simulate`: what is wrong with GPU code, at the lines of the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.tileir.diagnostics import TileSimulationError

KERNELS = '''
import tilewright as tw

@tw.tile_kernel
def double(x):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, 128) * 2.0)

@tw.tile_kernel
def beyond(x, out):
    i = tw.bid(0) * 128 + tw.arange(128, dtype=tw.int32)
    tw.scatter(out, i, tw.gather(x, i), check_bounds=False)
'''


@tw.tile_kernel
def row_sums(x, out):
    i = tw.bid(0)
    tile = tw.load(x, (i, 0), (1, 4096))
    total = tw.sum(tile, axis=1)
    tw.store(out, i, total)


@tw.function
def past_the_end(out, value):
    i = tw.arange(128, dtype=tw.int32)
    tw.scatter(out, i, value, check_bounds=False)


@tw.tile_kernel
def calls(x, out):
    past_the_end(out, tw.load(x, 0, 128))


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip().startswith(text))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("schedule", ["inorder", "random"])
def test_right_code_computes_what_the_interpreter_does(target: str, schedule: Any) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4096)).astype(np.float32)
    out, want = np.zeros((2, 3), np.float32)
    row_sums.simulate((3,), x, out, target=target, schedule=schedule, seed=3)
    row_sums[(3,)](x, want)
    np.testing.assert_allclose(out, want, rtol=1e-5)


def test_an_access_out_of_range_is_told_at_its_line_in_the_users_names() -> None:
    with pytest.raises(TileSimulationError, match=r"OutOfRange: .* of out, of 400 bytes") as caught:
        calls.simulate((1,), np.ones(128, np.float32), np.zeros(100, np.float32), target="sm_80")
    error = caught.value
    assert error.kind == "OutOfRange" and error.threads and error.loc.line == line_of("tw.scatter(out, i, value")
    assert 'test_simulate.py", line' in str(error) and "tw.scatter(out, i, value, check_bounds=False)" in str(error)


def test_a_missing_barrier_is_a_race_at_the_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    """The barriers of the code are made to do nothing: the exchange between the warps races."""
    from tilewright.inspecting.stages import Stages

    lowered = vars(Stages)["lowered"].func

    def without(self: Any) -> Any:
        import dataclasses

        made = lowered(self)
        lines = [line for line in made.llvm_text.split("\n") if "bar.sync 0" not in line]
        return dataclasses.replace(made, llvm_text="\n".join(lines))

    monkeypatch.setattr(Stages, "lowered", property(without))
    with pytest.raises(TileSimulationError) as caught:
        row_sums.simulate((1,), np.ones((1, 4096), np.float32), np.zeros(1, np.float32), target="sm_80")
    assert caught.value.kind in ("Race", "UnwrittenRead")
    assert "total = tw.sum(tile, axis=1)" in str(caught.value)


def test_refusals() -> None:
    x = np.zeros((1, 4096), np.float32)
    with pytest.raises(ValueError, match="schedule must be"):
        row_sums.simulate((1,), x, x[0, :1].copy(), schedule="sideways")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing|takes"):
        row_sums.simulate((1,), x)
    row_sums.simulate((0,), x, np.zeros(1, np.float32))


def test_the_command_line(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    file = str(tmp_path / "k.py")
    assert main(["simulate", f"{file}:double", "--grid", "2", "--args", "f32[256]", "--target", "sm_80"]) == 0
    assert capsys.readouterr().out == "double: nothing wrong in 2 blocks for sm_80 (inorder)\n"
    words = ["simulate", f"{file}:beyond", "--grid", "2", "--args", "f32[256],f32[200]:zeros", "--target", "sm_80"]
    assert main(words) == 1
    assert f'"{file}", line 12' in capsys.readouterr().err
    assert main([*words, "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["type"] == "TileSimulationError" and error["place"]["line"] == 12
