"""tools/public_programs.py: what it runs, in which folder, and what its table tells."""

from __future__ import annotations

from pathlib import Path

import public_programs
import pytest

KERNEL = """
import cuda.tile as ct
import numpy as np

@ct.kernel
def fill(x, value):
    ct.store(x, (0,), {value})

x = np.zeros(8, np.float32)
ct.launch(None, (1,), fill, (x, 3))
print("filled", x[0])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right").mkdir()
    (tmp_path / "right" / "fill.py").write_text(KERNEL.format(value="ct.full((8,), value, ct.float32)"))
    (tmp_path / "wrong.py").write_text(KERNEL.format(value="no_such_name"))
    (tmp_path / "host.py").write_text("print('no kernels here')\n")
    return tmp_path


def test_every_file_with_kernels_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert public_programs.main([str(folder), "--cpu"]) == 1
    heading, right, wrong, total = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["program", "ended", "seconds"] and total == "1 of 2 programs passed"
    assert right.startswith("right: fill.py  passed ") and right.endswith("filled 3.0")
    assert wrong.startswith("wrong.py        exit code 1 ") and "TileSyntaxError: " in wrong


def test_a_list_gives_folders_and_arguments(folder: Path) -> None:
    (folder / "test_kernels.py").write_text("from cuda import tile\n")
    names = [program.words for program in public_programs.programs(folder)]
    assert names == [("fill.py",), ("-m", "pytest", "-q", "test_kernels.py"), ("wrong.py",)]
    (folder / "programs.txt").write_text("# by their authors\nright: fill.py --size '1 2'\n\nhost.py\n")
    listed = public_programs.programs(folder)
    assert [(program.folder.name, program.words) for program in listed] == [
        ("right", ("fill.py", "--size", "1 2")), (folder.name, ("host.py",))]


def test_time_limit_and_error_of_a_test(folder: Path) -> None:
    (folder / "long.py").write_text("import time\ntime.sleep(60)\n")
    outcome = public_programs.run(public_programs.Program(folder, ("long.py",)), 0.5)
    assert (outcome.ended, outcome.line) == ("time limit", "") and outcome.seconds < 20
    (folder / "test_wrong.py").write_text("def test_it():\n    assert 1 + 1 == 3\n")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_wrong.py")
    outcome = public_programs.run(public_programs.Program(folder, words), 60)
    assert (outcome.ended, outcome.line) == ("exit code 1", "E       assert (1 + 1) == 3")
