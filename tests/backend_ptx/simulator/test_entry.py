"""The simulator as its users call it: kernels, Tile IR functions, lowered code, text; and what it says of bad input."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx import simulator
from tilewright.backend_ptx.simulator import (
    OutOfRange,
    SimError,
    simulate,
    simulate_function,
    simulate_lowered,
    simulate_optimised,
    simulate_text,
)

HOWS: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 3}, {"races": False}]


@tw.tile_kernel
def scale(x, factor, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, tile) * factor)


def expected() -> np.ndarray:
    return np.arange(300, dtype=np.float32) * 3


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", None])
def test_a_kernel(target: str | None, optimised: bool, how: dict[str, Any]) -> None:
    x = np.arange(300, dtype=np.float32)
    lowered = simulate(scale, 3, (x, 3.0, 128), target, optimised=optimised, **how)
    assert (x == expected()).all()
    assert lowered.threads % 32 == 0 and "define" in lowered.llvm_text


def test_every_stage_has_its_entry() -> None:
    args = (np.arange(300, dtype=np.float32), 3.0, 128)
    stages = scale.lower(*args, target="sm_90a")
    for run in (
        lambda values: simulate_function(stages.tile_ir(), (3,), values, "sm_90a"),
        lambda values: simulate_lowered(stages.lowered, (3, 1), values),
        lambda values: simulate_optimised(stages.lowered, (3, 1, 1), values, "sm_90a"),
    ):
        x = np.arange(300, dtype=np.float32)
        run([x, 3.0])
        assert (x == expected()).all()


def test_a_wrong_grid_of_text_is_named() -> None:
    text = "define void @k() { ret void }".replace("{ ", "{\n").replace(" }", "\n}")
    simulate_text(text, "k", 1, 32, [])
    with pytest.raises(KeyError, match="no function 'other'"):
        simulate_text(text, "other", 1, 32, [])
    with pytest.raises(ValueError, match="0 parameters .* 1 are given"):
        simulate_text(text, "k", 1, 32, [1])
    with pytest.raises(ValueError, match="no clusters of 2 blocks in 3"):
        simulate_text(text, "k", 3, 32, [], cluster=2)


def test_unknown_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="'inorder' or 'random', not 'fast'"):
        simulate(scale, 1, (np.zeros(4, np.float32), 1.0, 4), "sm_80", schedule="fast")  # type: ignore[arg-type]


class Foreign:
    """An array of another library."""

    def __init__(self) -> None:
        self.data = np.zeros(128, np.float32)
        self.shape = self.data.shape
        self.__array_interface__ = self.data.__array_interface__


def test_arrays_of_others_are_refused() -> None:
    lowered = scale.lower(np.zeros(128, np.float32), 1.0, 128, target="sm_80").lowered
    with pytest.raises(TypeError, match=r"argument 0 is a \S*Foreign; the simulator takes NumPy arrays"):
        simulate_lowered(lowered, 1, [Foreign(), 1.0])


def test_an_error_names_line_and_threads() -> None:
    x = np.zeros(1024, np.float32)
    stages = scale.lower(x, 2.0, 1024, target="sm_80")
    with pytest.raises(OutOfRange, match=r"threads \d+.*\n  in block \(1, 0, 0\) at line \d+: ") as caught:
        simulate_lowered(replace(stages.lowered, llvm_text=_without_predicates(stages.lowered.llvm_text)), 2, [x, 2.0])
    assert isinstance(caught.value, SimError)


def _without_predicates(text: str) -> str:
    """All comparisons hold: accesses past the end happen."""
    changed = "\n".join(
        line.split("=")[0] + "= icmp eq i1 true, true" if " = icmp " in line else line for line in text.split("\n"))
    assert changed != text
    return changed


def test_public_names() -> None:
    for name in simulator.__all__:
        found = getattr(simulator, name)
        if name not in ("Grid",):
            assert found.__doc__, name


def test_command_line() -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "tilewright.backend_ptx.simulator", *args], capture_output=True,
                              text=True, check=False)

    done = run("rows-softmax-in-2", "--target", "sm_90a", "--text")
    assert done.returncode == 0, done.stderr
    assert "define" in done.stdout and "ok rows-softmax-in-2: lowering" in done.stdout
    none = run("no such case")
    assert none.returncode == 2 and "no case of the catalogue" in none.stderr
