"""The offline assembler: its report, and a refusal that shows the PTX line."""

from __future__ import annotations

import pytest

from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.runtime import ptxas
from tilewright.backend_ptx.targets import SM_90A
from tilewright.tileir.diagnostics import TileCompilerExecutionError


def test_refusal_shows_the_line() -> None:
    ptx, _ = llvm_to_ptx('target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k() { ret void }\n', SM_90A)
    with pytest.raises(TileCompilerExecutionError) as caught:
        ptxas.assemble(ptx.replace("ret;", "frobnicate;"), "sm_90a", kernel="broken")
    text = str(caught.value)
    assert "the assembler refused the PTX of kernel broken" in text
    assert "frobnicate;" in text and "PTX line" in text


def test_missing_ptxas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    ptxas.find_ptxas.cache_clear()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.path", [])
    try:
        with pytest.raises(FileNotFoundError, match="nvidia-cuda-nvcc"):
            ptxas.find_ptxas()
        monkeypatch.setenv("TILEWRIGHT_PTXAS", "/nowhere/ptxas")
        with pytest.raises(FileNotFoundError, match="TILEWRIGHT_PTXAS"):
            ptxas.find_ptxas()
    finally:
        ptxas.find_ptxas.cache_clear()
