"""LLVM text to PTX: refused text becomes an internal error that shows the line; threads may compile at once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from llvmlite.binding import ModuleRef

from tilewright.backend_ptx.llvm.compile import llvm_binding, llvm_to_ptx, machine_of, pipeline_of
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import SM_80, SM_90A
from tilewright.tileir import foreign
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileInternalError

KERNEL = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @scale(ptr addrspace(1) %p, float %f) {{
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %s0 = insertelement <4 x float> poison, float %f, i32 0
  %s = shufflevector <4 x float> %s0, <4 x float> poison, <4 x i32> zeroinitializer
  %r = fmul <4 x float> %v, %s
  {store}
  ret void
}}
"""
GOOD = KERNEL.format(store="store <4 x float> %r, ptr addrspace(1) %p, align 16")


def test_vectors_become_wide_accesses() -> None:
    ptx, _ = llvm_to_ptx(GOOD, SM_90A)
    assert "ld.global.v4" in ptx and "st.global.v4" in ptx
    assert assemble(ptx, SM_90A).spills == 0


PAIR = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c) {{
  %both = call i16 asm sideeffect "ld.global.b16 $0, [$1];", "=h,l"(ptr addrspace(1) %p)
  br i1 %c, label %then, label %end
then:
  %pair = bitcast i16 %both to <2 x i8>
  %wide = sext <2 x i8> %pair to <2 x i32>
  %some = {op} <2 x i32> %wide, splat (i32 2)
  %narrow = trunc <2 x i32> %some to <2 x i8>
  %one = shufflevector <2 x i8> %narrow, <2 x i8> poison, <1 x i32> <i32 {lane}>
  store <1 x i8> %one, ptr addrspace(1) %p
  br label %end
end:
  ret void
}}
"""


@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_one_byte_of_a_pair_is_computed(op: str, lane: int) -> None:
    """LLVM alone stores a constant (see llvm_defects.py)."""
    ptx, _ = llvm_to_ptx(PAIR.format(op=op, lane=lane), SM_90A)
    loaded = re.search(r"ld\.global\.b16 (%\w+)", ptx)
    assert loaded is not None and ptx.count(loaded[1]) > 1, ptx
    assert re.search(r"st\.global\.b8 \t\[%\w+\], %\w+;", ptx), ptx


def test_refused_text_is_an_internal_error_with_the_line() -> None:
    with pytest.raises(TileInternalError) as caught:
        llvm_to_ptx(KERNEL.format(store="store <4 x float> %nothing, ptr addrspace(1) %p"), SM_90A)
    text = str(caught.value)
    assert "LLVM refused the generated code" in text and "%nothing" in text
    assert "line 7 of the LLVM text: store <4 x float> %nothing" in text
    assert "TILEWRIGHT_DUMP_DIR" in text


UNDOMINATED = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c) {
  br i1 %c, label %then, label %end
then:
  %made = add i32 1, 2
  br label %end
end:
  store i32 %made, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize("variable, foreign_code", [("1", False), ("0", True)])
def test_llvm_verifies_where_that_is_wanted_and_code_of_others(
    monkeypatch: pytest.MonkeyPatch, variable: str, foreign_code: bool,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_VERIFY", variable)
    monkeypatch.setattr(foreign, "linked", lambda *args: foreign_code)
    with pytest.raises(TileCompilerExecutionError, match="does not dominate all uses"):
        llvm_to_ptx(UNDOMINATED, SM_90A)


def test_llvm_verifies_nothing_at_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []
    monkeypatch.setattr(ModuleRef, "verify", lambda module: verified.append(module.name))
    for variable in ("0", "1"):
        monkeypatch.setenv("TILEWRIGHT_VERIFY", variable)
        llvm_to_ptx(GOOD, SM_90A)
    assert len(verified) == 1


def test_passes_are_made_once_for_a_target() -> None:
    binding = llvm_binding()
    first, second = (pipeline_of(binding, machine_of(binding, SM_90A)) for _ in range(2))
    assert first is second and pipeline_of(binding, machine_of(binding, SM_80)) is not first


def test_unknown_intrinsic_is_named() -> None:
    text = """target triple = "nvptx64-nvidia-cuda"
declare float @llvm.nvvm.no.such.thing(float)
define ptx_kernel void @k(ptr addrspace(1) %p, float %f) {
  %r = call float @llvm.nvvm.no.such.thing(float %f)
  store float %r, ptr addrspace(1) %p
  ret void
}
"""
    with pytest.raises(TileCompilerExecutionError, match="functions that do not exist for sm_80"):
        llvm_to_ptx(text, SM_80)


def test_many_threads() -> None:
    texts = [GOOD.replace("@scale", f"@scale_{i}") for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        out = list(pool.map(lambda text: llvm_to_ptx(text, SM_90A)[0], texts))
    assert [f"scale_{i}" in ptx for i, ptx in enumerate(out)] == [True] * 16
