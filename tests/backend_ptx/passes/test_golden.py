"""What each pass makes of one kernel, as a file to read (rewritten with --update-golden)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.pass_kernels import function
from support.shown_passes import SHOWN

from tilewright.backend_ptx.pipeline import PIPELINE, run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.passes.manager import name_of
from tilewright.tileir.printer import to_text

FOLDER = Path(__file__).with_name("golden")


def test_every_pass_has_a_golden_file() -> None:
    names, rows = [name_of(p) for p in PIPELINE], [name for name in SHOWN if "-" not in name]
    lacking = [f'{name} has no row in SHOWN: write "{name}": Shown("a kernel of tests/support/pass_kernels.py") where '
               f"PIPELINE has it, and run this file with --update-golden" for name in names if name not in rows]
    assert not lacking, "\n".join(lacking)
    assert rows == names, "the rows of SHOWN stand in the order of PIPELINE, and name no other pass"


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, update_golden: bool) -> None:
    shown = SHOWN[name]
    f = function(shown.kernel)
    if shown.warps is not None:
        f.hints = replace(f.hints, num_worker_warps=shown.warps)
    if shown.ctas is not None:
        f.hints = replace(f.hints, num_ctas=shown.ctas)
    f.hints = replace(f.hints, programmatic_dependent_launch=shown.dependent)
    run_passes(f, get_target(shown.target), until=name.partition("-")[0])
    path = FOLDER / f"{name}.tile"
    if update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(to_text(f))
    assert path.exists(), f"{path.name} is missing: run this file with --update-golden, and read what it writes"
    assert to_text(f) == path.read_text()
