"""A target record is all that a new target needs: a made-up one is compiled for, listed and assembled."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from catalogue import elementwise
from catalogue.case import Case
from catalogue.test_ptx import assembles

import tilewright as tw
from tilewright.backend_ptx import targets
from tilewright.backend_ptx.targets import TARGETS, Target
from tilewright.cli.main import main, make_parser

ROOT = Path(__file__).parents[3]
# LLVM and ptxas know it (PTX ISA 8.8); no record of ours is for it, nor for the capability that it gets here.
NAME = "sm_121f"


@tw.tile_kernel
def double(x):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, 128) * 2.0)


def make(rng: np.random.Generator) -> tuple[np.ndarray]:
    return (rng.standard_normal(256).astype(np.float32),)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Target:
    assert NAME not in TARGETS
    record = replace(targets.SM_120A, name=NAME, capability=(12, 9), ptx=88)
    monkeypatch.setitem(TARGETS, NAME, record)
    return record


def test_it_is_found(made_up: Target) -> None:
    assert targets.get_target(NAME) is made_up
    assert targets.for_device((12, 9)) is made_up
    with pytest.raises(tw.TileValueError, match=NAME):
        targets.get_target("sm_1")


def test_kernels_compile_for_it(made_up: Target) -> None:
    ptx = double.ptx(tw.spec("f32[256]"), target=NAME)
    assert f".target {NAME}" in ptx and ".version 8.8" in ptx


def test_it_is_assembled_with_the_catalogue(made_up: Target) -> None:
    """Cases name no targets of their own unless they need a feature, so that a new record reaches ptxas."""
    case = Case("double", double, (2,), make, (0,), lambda x: (2 * x,))
    assert NAME in case.targets
    assert all(NAME in case.targets for case in elementwise.cases())
    assembles(case, NAME)


def test_the_command_line_takes_it(made_up: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    body = "def fill(x):\n    tw.store(x, 0, tw.zeros(16, tw.int32))\n"
    file.write_text(f"import tilewright as tw\n@tw.tile_kernel\n{body}")
    assert main(["ptx", f"{file}:fill", "--args", "i32[16]", "--target", NAME]) == 0
    assert f".target {NAME}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        make_parser().parse_args(["ptx", "--help"])
    assert NAME in capsys.readouterr().out


def test_no_other_file_lists_targets() -> None:
    """Three names of targets in a row are a list kept by hand, which a new target would not be on."""
    listed = re.compile(r"(\W+sm_\d+\w*){4}")
    for folder in ("backend_ptx", "dsl", "frontend", "interp", "tileir", "tools", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name not in ("targets.py", "test_targets.py"):
                found = listed.search(path.read_text())
                assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}; use TARGETS"


@pytest.mark.parametrize("field", [field.name for field in fields(Target)])
def test_every_field_is_read(field: str) -> None:
    used = re.compile(rf"\.{field}\b")
    sources = [path for folder in ("backend_ptx", "dsl", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert any(used.search(path.read_text()) for path in sources), f"nobody reads Target.{field}; take it out"
