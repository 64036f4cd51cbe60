"""What is wrong with files, folders and words of the command line is one line and a status, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright
from tilewright.cli.main import main

KERNEL = str(Path(__file__).parents[2] / "examples/vector_add.py:vector_add")
ARGS = "f32[64], f32[64], f32[64], 16"
DUMP = "func @k(%x: array<?xf32, strides=1>, %n: i32) {\n  return()\n}\n"


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(words)
    lines = capsys.readouterr().err.splitlines()
    assert status and len(lines) == 1, lines
    return status, lines[0]


@pytest.mark.parametrize("args, message", [
    ("[" * 500 + "]" * 500, "nested more than 20 deep"), ("(" * 100_000, "nested more than 20 deep"),
    ("-" * 9000 + "1", "is no argument specification"), ("[f32[4]", "do not match"), ("1\x00", "no argument specif"),
])
def test_odd_arguments(args: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in fails(capsys, "ir", KERNEL, f"--args={args}")[1]


@pytest.mark.parametrize("grid", ["x", "", "4,x", "4,,4", "1x", "99999999999", "-4", "1,2,3,4"])
def test_odd_grids(grid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.tile").write_text(DUMP)
    assert "grid" in fails(capsys, "run", str(tmp_path / "k.tile"), f"--grid={grid}", "--args=f32[8],3")[1]


@pytest.mark.parametrize("args, message", [
    ("f32[8],nope", "'nope' is no number"), ("f32[8],()", "is no number"), ("f32[8]," + "(" * 19 + ")" * 19, "no numb"),
    ("f32[8],99999999999", "out of bounds"), ("f32[8],[", "do not match"), ("none.npy,3", "No such file"),
    ("bad.npy,3", "is no array in NumPy's format"), ("pipe.npy,3", "is no file"), ("f32[99999999999999],3", "memory"),
    ("f32[8]:odd,3", "no array to generate"), ("f32[99999999999999999999999],3", ""),
])
def test_odd_inputs(args: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.tile").write_text(DUMP)
    Path("bad.npy").write_text("no array")
    os.mkfifo("pipe.npy")
    assert message in fails(capsys, "run", "k.tile", "--grid=1", f"--args={args}")[1]


def test_odd_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.tile")
    Path("bytes.tile").write_bytes(bytes(range(256)))
    for name, text in (("syntax", "def f(:"), ("missing", "import no_such_module_at_all"), ("ends", "exit(3)")):
        Path(f"{name}.py").write_text(text)
        assert "cannot be imported" in fails(capsys, "ir", f"{name}.py:k")[1]
    assert "is no file" in fails(capsys, "run", "pipe.tile", "--grid=1")[1]
    assert "is no file" in fails(capsys, "run", ".", "--grid=1")[1]
    assert "is no text" in fails(capsys, "run", "bytes.tile", "--grid=1")[1]


def test_prints_of_the_file_are_no_part_of_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "loud.py"
    file.write_text("import tilewright as tw\nprint('hello')\n@tw.kernel\ndef k(x):\n    tw.store(x, 0, 1.0)\n")
    assert main(["ir", str(file), "--args=f32[8]"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "hello\n" and "func @k" in printed.out and "hello" not in printed.out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert not end.value.code and capsys.readouterr().out == f"tilewright {tilewright.__version__}\n"


def test_unusable_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    (tmp_path / "k.tile").write_text(DUMP.replace("return", "%c: f32 = constant(value=0x0.0p+0, type=tile<f32>)\n  "
                                                  "scatter(array=%x, indices=(%n), value=%c, shape=())\n  return"))
    run = ["run", str(tmp_path / "k.tile"), "--grid=1", "--args=f32[8],3"]
    assert "File exists" in fails(capsys, *run, "--out", str(blocked))[1]
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(blocked))
    assert str(blocked) in fails(capsys, "cache", "log")[1]
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(blocked))
    assert str(blocked) in fails(capsys, "ptx", KERNEL, "--args", ARGS, "--target=sm_80")[1]
    monkeypatch.delenv("TILEWRIGHT_DUMP_DIR")
    monkeypatch.setenv("TILEWRIGHT_LOGS", "ODD")
    assert "ODD" in fails(capsys, "ptx", KERNEL, "--args", ARGS, "--target=sm_80")[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("end, status, message", [
    ("> /dev/full", 1, "tilewright: No space left on device\n"), (">&-", 2, "tilewright: there is no standard output"),
    ("| head -c 0; exit ${PIPESTATUS[0]}", 141, ""),
])
def test_unusable_output(end: str, status: int, message: str) -> None:
    command = f'"{sys.executable}" -m tilewright ir {KERNEL} --args "{ARGS}" {end}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == status and done.stderr.startswith(message) and done.stderr.count("\n") <= 1, done.stderr
