"""Every record of the instruction table assembles for the least target and PTX version that it names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.backend_ptx.instructions import warpgroup
from tilewright.backend_ptx.instructions.record import REGISTER, Instruction
from tilewright.backend_ptx.instructions.table import instruction, instructions
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.simulator.text.records import by_text, find_text

# wgmma is made on demand: some of every kind and form.
WGMMA = [
    *(warpgroup.wgmma(n, kind, steps=steps)
      for kind, n, steps in zip(warpgroup.KINDS, (8, 40, 256, 128, 64, 24) * 2, (1, 4, 2) * 4, strict=True)),
    *(warpgroup.wgmma(n, kind, None, steps=steps)
      for kind, n, steps in zip(warpgroup.KINDS, (256, 64, 8, 16, 32, 96) * 2, (2, 1, 4) * 4, strict=True)),
    *(warpgroup.wgmma(64, "bf16", a, b, 2) for a in (False, True) for b in (False, True)),
    warpgroup.wgmma(176, "f16", None, True, 4),
    warpgroup.wgmma_wait_tied(0, 32), warpgroup.wgmma_wait_tied(1, 16, 8),
    warpgroup.wgmma(64, "bf16", None, steps=2, fenced=True),
]
RECORDS = [*instructions().values(), *WGMMA]
NEEDS = sorted({(r.sm, r.exact, r.ptx) for r in RECORDS})

# LLVM ends the process on what it cannot select, so it runs in a child.
COMPILE = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
source, cpu, ptx, out = sys.argv[1:]
module = llvm.parse_assembly(open(source).read())
module.verify()
machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=cpu, features="+ptx" + ptx, opt=3)
open(out, "w").write(machine.emit_assembly(module))
"""


def kernel_around(number: int, record: Instruction) -> str:
    """A kernel that passes its parameters to the instruction and stores what comes back."""
    b = Builder()
    types = [t for t in record.operands]
    args = [Val(t, 0, f"%a{i}") for i, t in enumerate(types)]
    for value in record.emit(b, *args):
        b.raw(f"store {value}, ptr addrspace(1) %out, align 8")
    b.ret()
    names = "".join(f"{name} = type {struct}\n" for struct, name in b.types.items())
    body = b.text().replace(" #1", " convergent nounwind")
    params = ", ".join(f"{a.type} {a.text}" for a in args)
    text = f"define ptx_kernel void @k{number}(ptr addrspace(1) %out{', ' if params else ''}{params}) {{\n{body}}}\n"
    return (names + text).replace("%pack", f"%pack{number}_")


def ptxas() -> str:
    found = shutil.which("ptxas")
    if found is None:
        pytest.skip("ptxas is not installed")
    return found


@pytest.mark.parametrize(("sm", "exact", "ptx"), NEEDS)
def test_assembles_for_its_least_target(sm: int, exact: bool, ptx: int, tmp_path: Path) -> None:
    records = [r for r in RECORDS if (r.sm, r.exact, r.ptx) == (sm, exact, ptx)]
    source = tmp_path / "all.ll"
    source.write_text('target triple = "nvptx64-nvidia-cuda"\n' + "".join(map(kernel_around, range(999), records)))
    cpu = f"sm_{sm}{'a' if exact else ''}"
    out = tmp_path / "all.ptx"
    command = [sys.executable, "-c", COMPILE, str(source), cpu, str(ptx), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = [ptxas(), f"-arch={cpu}", "-O0", "-o", str(tmp_path / "all.cubin"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_and_texts_are_unique() -> None:
    assert len(by_text()) == len(instructions())


@pytest.mark.parametrize("record", WGMMA, ids=[r.name for r in WGMMA])
def test_a_record_made_on_demand_is_found_by_its_text(record: Instruction) -> None:
    found = find_text(record.asm, record.constraints)
    assert found is not None and (found.name, found.facts) == (record.name, record.facts)
    assert find_text(record.asm, record.constraints + ",r") is None


def test_wgmma_refuses_what_has_no_instruction() -> None:
    with pytest.raises(AssertionError, match="n = 40"):
        warpgroup.wgmma(40, "s8")
    with pytest.raises(AssertionError, match="does not transpose"):
        warpgroup.wgmma(64, "e4m3", b_trans=True)
    assert not warpgroup.valid_n(264, "bf16")


def test_operands_have_a_register_and_ties_match() -> None:
    for record in instructions().values():
        assert {*record.operands, *record.results} <= REGISTER.keys()
        for operand, result in record.tied.items():
            assert record.operands[operand] == record.results[result], record.name
        for number in range(len(record.results) + len(record.operands) - len(record.tied)):
            assert f"${number}" in record.asm, f"{record.name}: operand ${number} is not used"


def test_emit_prints_the_call() -> None:
    b = Builder()
    rounded = instruction("cvt.rn.tf32.f32").emit1(b, Val("float", 0, "%x"))
    assert rounded.type == "i32"
    assert 'call i32 asm "cvt.rn.tf32.f32 $0, $1;", "=r,f"(float %x)' in b.text()
    instruction("bar.sync").emit(b)
    assert 'call void asm sideeffect "bar.sync 0;", "~{memory}"() #1' in b.text()


def test_emit_refuses_wrong_operand_types() -> None:
    with pytest.raises(AssertionError, match=r"shfl\.bfly: operands"):
        instruction("shfl.bfly").emit(Builder(), Val("float", 0, "%x"), Val("i32", 0, "%y"))


def test_unknown_name() -> None:
    with pytest.raises(KeyError, match="no instruction 'mma.m1n1k1'"):
        instruction("mma.m1n1k1")
