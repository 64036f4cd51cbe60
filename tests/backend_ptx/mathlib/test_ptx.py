"""Every function, scalar and as vectors, becomes PTX that ptxas takes; in a child: LLVM aborts where it cannot."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import get_target

CHILD = '''
import sys
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.llvm.module import KernelText
from tilewright.backend_ptx.mathlib import emit, rounded
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.enums import RoundingMode as Mode

GLOBAL = "ptr addrspace(1)"
ARGUMENTS = {"atan2": 2, "pow": 2, "truediv": 2, "add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3}
NAMES = "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh atan2 pow truediv".split()
SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
target = get_target(sys.argv[1])


def kernel(tag, function, elem, n, count):
    print("KERNEL", tag, flush=True)
    b = Builder()
    names = [f"in{i}" for i in range(count)] + ["out"]
    align = SIZES[elem]
    args = [b.load(elem, n, Val(GLOBAL, 0, f"%{name}"), align) for name in names[:-1]]
    b.store(function(b, *args), Val(GLOBAL, 0, "%out"), align)
    b.ret()
    text = KernelText(tag, [(GLOBAL, name) for name in names], 128).text(b)
    print(llvm_to_ptx(text, target)[0], flush=True)


def function(name, elem, n, mode=None, ftz=False):
    tag = f"{name}_{elem}_{n}_{mode.name if mode else 'default'}_{ftz}"
    kernel(tag, lambda b, *a: emit(b, name, *a, mode=mode, ftz=ftz), elem, n, ARGUMENTS.get(name, 1))


for name in NAMES:
    for n in (0, 1, 2, 4, 8):
        function(name, "float", n)
    for elem in ("half", "bfloat", "double"):
        function(name, elem, 2)
    for mode, ftz in ((Mode.FULL, False), (Mode.APPROX, False), (None, True), (Mode.APPROX, True)):
        function(name, "float", 2, mode, ftz)
function("sin", "float", 3)
function("sin", "float", 64)
for word in ("add", "sub", "mul", "fma", "div", "sqrt"):
    for mode in (Mode.RN, Mode.RZ, Mode.RM, Mode.RP):
        for elem, ftz in (("float", False), ("float", True), ("double", False)):
            kernel(f"r_{word}_{mode.name}_{elem}_{ftz}", lambda b, *a: rounded(b, word, mode, ftz, *a), elem, 2,
                   ARGUMENTS.get(word, 1))
'''


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_every_function_assembles(target: str) -> None:
    child = subprocess.run([sys.executable, "-c", CHILD, target], capture_output=True, text=True)
    last = re.findall("KERNEL (.*)", child.stdout)[-1:]
    assert child.returncode == 0, f"at {last}: {child.stderr[-2000:]}"
    kernels = child.stdout.split("KERNEL ")[1:]
    assert len(kernels) > 200
    # One module of all kernels: each text but the first without its header.
    texts = [k.partition("\n")[2] for k in kernels]
    header = re.search(r"\.version.*?\.address_size 64", texts[0], re.DOTALL)
    assert header is not None
    bodies = [t[t.index(".address_size 64") + len(".address_size 64") :] for t in texts]
    assembled = assemble(header[0] + "\n" + "\n".join(bodies), get_target(target))
    assert assembled.spills == 0
    assert not re.search(r"[1-9]\d* bytes stack frame", assembled.log), assembled.log


def test_short_forms() -> None:
    """What the fast modes are for: one instruction, or two."""
    from tilewright.backend_ptx.llvm.builder import Builder, Val
    from tilewright.backend_ptx.mathlib import emit
    from tilewright.tileir.enums import RoundingMode

    def calls(name: str, mode: RoundingMode | None, ftz: bool = False) -> str:
        b = Builder()
        emit(b, name, Val("float", 0, "poison"), mode=mode, ftz=ftz)
        return b.text()

    assert "llvm.nvvm.tanh.approx.f32" in calls("tanh", RoundingMode.APPROX)
    assert calls("exp", RoundingMode.APPROX).count("\n") == 3  # entry, fmul, ex2
    assert calls("exp2", None, ftz=True).count("\n") == 2
    assert calls("exp", None).count("\n") <= 13  # bitcasts and a negation cost nothing on the GPU


@tw.tile_kernel
def powers(x):
    tw.store(x, 0, tw.exp2(tw.load(x, 0, 512)))


def test_selects_of_powers_of_two_are_between_results() -> None:
    """So that ptxas predicates the sum and the product of small arguments: a select between constants is one more."""
    ptx = powers.ptx(tw.spec("f32[4096]"), target="sm_90a")
    selects = re.findall(r"selp\.f32\s+(.*);", ptx)
    assert len(selects) == 2 * ptx.count("ex2.approx.ftz.f32") == 8
    assert not any("0f" in operands for operands in selects)
