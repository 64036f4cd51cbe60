"""Looking inside: Tile IR, LLVM IR, PTX and cubin without a GPU; the dump folder; the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.pipeline import PIPELINE
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import TARGETS
from tilewright.cli.main import main
from tilewright.cli.reading import parse_args, split_args
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileInternalError
from tilewright.tileir.parser import parse

SOURCE = '''
import tilewright as tw

@tw.tile_kernel
def row_sum(x, out, n: tw.Constant[int]):
    """Sum the rows."""
    i = tw.bid(0)
    tw.store(out, (i,), tw.sum(tw.load(x, (i, 0), (1, n), padding_mode=tw.PaddingMode.ZERO), axis=1))

@tw.tile_kernel(occupancy=tw.ByTarget(sm_80=2, default=1))
def scale(x, factor):
    i = tw.bid(0)
    tw.store(x, (i,), tw.load(x, (i,), (32,)) * factor)
'''
MATRIX, VECTOR = tw.spec("f32[4096,1024]"), tw.spec("f32[4096]")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "my_kernels.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def row_sum(file: Path) -> Any:
    from tilewright.cli.reading import load_kernel

    return load_kernel(f"{file}:row_sum")


def test_ir(row_sum: Any) -> None:
    text = row_sum.ir(MATRIX, VECTOR, 1024)
    assert "reduce_sum" in text and str(parse(text)) == text
    assert "extent_div=16x16" in text
    before = row_sum.ir(MATRIX, VECTOR, 1024, passes=False)
    assert str(parse(before)) == before
    real = row_sum.ir(np.zeros((4096, 1024), np.float32), np.zeros(4096, np.float32), 1024)
    assert real == text, "a specification and an array of the same shape are one specialisation"


@pytest.mark.parametrize("target", TARGETS)
def test_ptx_for_every_target(row_sum: Any, target: str) -> None:
    ptx = row_sum.ptx(MATRIX, VECTOR, 1024, target=target)
    assert f".target {target}" in ptx and ".entry row_sum(" in ptx
    assert assemble(ptx, target).spills == 0
    assert row_sum.cubin(MATRIX, VECTOR, 1024, target=target)[:4] == b"\x7fELF"


def test_llvm(row_sum: Any) -> None:
    text = row_sum.llvm(MATRIX, VECTOR, 1024, target="sm_80")
    assert "define ptx_kernel void @row_sum(" in text


def test_compiled(row_sum: Any) -> None:
    made = row_sum.compiled(MATRIX, VECTOR, 1024, target="sm_90a")
    assert made.threads % 32 == 0 and made.name == "row_sum" and made.target.name == "sm_90a"
    assert [p.kind for p in made.abi.params] == ["pointer", "extent", "extent", "stride", "stride", "pointer", "extent",
                                                 "stride"]
    assert {"lower", "llvm codegen"} <= set(made.timings)


def test_unknown_target(row_sum: Any) -> None:
    with pytest.raises(tw.TileValueError, match="unknown target 'sm_70'"):
        row_sum.ptx(MATRIX, VECTOR, 1024, target="sm_70")


def test_dump_folder(row_sum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path))
    row_sum.ptx(MATRIX, VECTOR, 1024, target="sm_90a")
    row_sum.ptx(MATRIX, VECTOR, 1024, target="sm_80")
    first, second = sorted(tmp_path.iterdir())
    assert (first.name, second.name) == ("row_sum", "row_sum-1")
    names = sorted(p.name for p in first.iterdir())
    assert names[0] == "00-frontend.tile" and names[1].startswith("01-")
    assert [n.partition("-")[2] for n in names[-2:]] == ["kernel.ll", "kernel.ptx"]
    assert [int(n[:2]) for n in names[:-2]] == list(range(len(names) - 2))
    for path in first.glob("*.tile"):
        assert f"{parse(path.read_text(), str(path))}\n" == path.read_text()
    [last] = second.glob("*-kernel.ptx")
    assert ".target sm_80" in last.read_text()


def test_failures_leave_their_dump(
    row_sum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.backend_ptx.llvm.module import KernelText

    whole = KernelText.text
    monkeypatch.setattr(KernelText, "text", lambda *args: whole(*args).replace("ret void", "ret nothing"))
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path))
    with pytest.raises(TileCompilerExecutionError, match="LLVM refused"):
        row_sum.ptx(MATRIX, VECTOR, 1024)
    [text] = (tmp_path / "row_sum").glob("*-kernel.ll")
    assert "ret nothing" in text.read_text()

    def fall(*args: object) -> str:
        raise KeyError("no such thing")

    monkeypatch.setattr(KernelText, "text", fall)
    with pytest.raises(TileInternalError, match="the lowering of kernel row_sum failed: KeyError"):
        row_sum.ptx(MATRIX, VECTOR, 1024)


def test_command_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--args", "f32[4096,1024], f32[4096], 1024"]
    for verb, sign, more in (("ir", "func @row_sum", []), ("ir", "func @row_sum", ["--no-passes"]),
                             ("ir", " @0:", ["--spans"]), ("llvm", "@row_sum", []),
                             ("ptx", ".target sm_120a", ["--target", "sm_120a"])):
        assert main([verb, f"{file}:row_sum", *arguments, *more]) == 0
        assert sign in capsys.readouterr().out
    assert main(["ir", f"{file}:scale", "--args", "f32[?],f32"]) == 0
    assert "factor" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, status, message", [
    (["ir", "nowhere.py:k"], 2, "there is no file nowhere.py"),
    (["ir", "FILE:nothing"], 2, "no kernel 'nothing'; its kernels are: row_sum, scale"),
    (["ir", "FILE"], 2, "write FILE:name with one of its kernels: row_sum, scale"),
    (["ir", "FILE:scale", "--args", "f32[4"], 2, "brackets"),
    (["ir", "FILE:scale", "--args", "f33[4],f32"], 1, "no dtype 'f33'"),
    (["ir", "FILE:scale", "--args", "f32[4]"], 1, "takes 2 arguments"),
    (["ir", "FILE:scale", "--args", "f32[4,4],f32"], 1, "error: load"),
    (["run", "nowhere.tile", "--grid", "1"], 2, "cannot be read"),
])
def test_command_line_errors(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    assert main([a.replace("FILE", str(file)) for a in arguments]) == status
    assert message.replace("FILE", str(file)) in capsys.readouterr().err


def test_arguments_from_text() -> None:
    assert split_args("f32[4,4], (1,2) ,[a,b],3") == ["f32[4,4]", "(1,2)", "[a,b]", "3"]
    parsed = parse_args("f32[4,4], (1, i32), [f32[3],f32[4]], 3, -1.5, True")
    assert parsed == (tw.spec("f32[4,4]"), (1, tw.spec("i32")), [tw.spec("f32[3]"), tw.spec("f32[4]")], 3, -1.5, True)


def test_every_dump_file_runs_in_a_fresh_process(
    row_sum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "dumps"))
    row_sum.ptx(tw.spec("f32[5,4096]"), tw.spec("f32[5]"), 4096, target="sm_80")
    monkeypatch.delenv("TILEWRIGHT_DUMP_DIR")
    x = np.random.default_rng(2).random((5, 4096), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    stages = sorted((tmp_path / "dumps").rglob("*.tile"))
    assert stages[-1].stem.endswith(PIPELINE[-1].__name__) and "reduce_bits" in stages[-1].read_text()
    program = "import sys; from tilewright.cli.main import main; sys.exit(main())"
    for stage in (stages[0], stages[-1]):
        out = tmp_path / stage.stem
        command = [sys.executable, "-c", program, "run", str(stage), "--grid", "5", "--out", str(out),
                   "--args", f"{tmp_path / 'x.npy'}, f32[5]:zeros"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert np.allclose(np.load(out / "out.npy"), x.sum(axis=1), rtol=1e-5)


def test_run_a_dump(row_sum: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "row_sum.tile"
    dump.write_text(row_sum.ir(tw.spec("f32[?,48]"), tw.spec("f32[?]"), 64))
    x = np.random.default_rng(1).standard_normal((5, 48)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "results"
    common = ["run", str(dump), "--grid", "5", "--out", str(out)]
    assert main([*common, "--args", f"{tmp_path / 'x.npy'}, f32[5]:zeros"]) == 0
    assert "out: float32[5]" in capsys.readouterr().out
    got = np.load(out / "out.npy")
    assert np.allclose(got, x.sum(axis=1), rtol=1e-5)
    assert main([*common, "--one-by-one", "--args", f"{tmp_path / 'x.npy'}, f32[5]:ones"]) == 0
    assert np.array_equal(np.load(out / "out.npy"), got)
    capsys.readouterr()
    for arguments, message in (
        ("f32[5,48]", "has 2 parameters (x, out)"), ("f64[5,48], f32[5]", "x must be an array of float32 with 2 axes"),
        ("f32[5,44], f32[5]", "the extent of axis 1 must be a multiple of 16"), ("f32[?,48], f32[5]", "to generate"),
    ):
        assert main([*common, "--args", arguments]) == 1
        assert message in capsys.readouterr().err
    dump.write_text(dump.read_text().replace("reduce_sum", "reduce_sun"))
    assert main([*common, "--args", "f32[5,48], f32[5]"]) == 1
    assert re.search(r"row_sum\.tile.*line \d+", capsys.readouterr().err, re.DOTALL)
