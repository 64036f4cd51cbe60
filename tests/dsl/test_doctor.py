"""The doctor's report, and SASS where a disassembler is there or is missing."""

from __future__ import annotations

import sys

import pytest

import tilewright as tw
from tilewright.cli import doctor
from tilewright.cli.main import main
from tilewright.inspecting import sass


def test_report_names_every_needed_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for package in doctor.NEEDED:
        assert package in shown
    assert "LLVM" in shown


def test_missing_package_comes_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", {"no-such-package-of-ours": "nothing"})
    found = next(f for f in doctor.examine() if f.what.startswith("no-such-package"))
    assert found.state == "missing" and found.advice == "pip install no-such-package-of-ours"


def test_broken_part_does_not_end_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("it is broken\nand more")

    monkeypatch.setattr(doctor, "_llvm", broken)
    found = next(f for f in doctor.examine() if f.what.startswith("PTX"))
    assert found.state == "it is broken" and found.advice


def test_no_disassembler_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass.shutil, "which", lambda *a, **k: None)
    monkeypatch.setattr(sys, "path", [])
    sass.find_disassembler.cache_clear()
    try:
        with pytest.raises(tw.TileUnsupportedFeatureError, match="nvdisasm nor cuobjdump"):
            sass.find_disassembler()
    finally:
        sass.find_disassembler.cache_clear()


def test_sass_of_a_kernel() -> None:
    try:
        sass.find_disassembler()
    except tw.TileUnsupportedFeatureError:
        pytest.skip("no disassembler is installed")
    from vector_add import vector_add

    spec = tw.spec("f32[1000]")
    assert "FADD" in vector_add.sass(spec, spec, spec, 256, target="sm_80")
