"""Every stage of a few example kernels, as files: the Tile IR after each pass that changed it, the LLVM IR, the PTX.

`pytest tests/catalogue/test_golden.py --update-golden` writes them anew; read the difference before committing it.
"""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.backend_ptx.compile import Look, compile_kernel
from tilewright.backend_ptx.targets import get_target
from tilewright.frontend import translate
from tilewright.tileir.core import Function
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.plan import Hints
from tilewright.tileir.printer import to_text

GOLDEN = Path(__file__).parent / "golden"
TARGET = "sm_90a"

# Example (and kernel of the same name) -> its abstract arguments, and the number of warps where the default is one:
# four warps show reductions across warps, with shared memory and barriers.
KERNELS: dict[str, tuple[tuple[Any, ...], int | None]] = {
    "vector_add": (("f32[?]", "f32[?]", "f32[?]", 256), None),
    "softmax": (("f32[?,256]", "f32[?,256]", 256), 4),
    "transpose": (("f32[?,?]", "f32[?,?]", 32, 32), 4),
    "matmul": (("f16[?,1024]", "f16[?,1024]", "f16[?,1024]", 64, 64, 32), None),
    "segmented_sum": (("f32[?]", "i32[?]", "f32[?]", 256), 2),
}


def stages(name: str) -> dict[str, str]:
    """File name -> text; a pass that changed nothing has no file, one that runs twice may have two."""
    described, warps = KERNELS[name]
    kernel = getattr(importlib.import_module(name), name)
    args = [tw.spec(a) if isinstance(a, str) else a for a in described]
    function = translate(kernel.__wrapped__, kernel.arg_specs(*args), name=name)
    files = {"frontend.tile": to_text(function)}
    last = files["frontend.tile"]

    def observe(step: str, now: Function) -> None:
        nonlocal last
        text = to_text(now)
        if text != last:
            files[f"{step}-again.tile" if f"{step}.tile" in files else f"{step}.tile"] = last = text

    run_pipeline(function, verify=True, observer=observe)
    hints = Hints(num_worker_warps=warps)
    compiled = compile_kernel(function, get_target(TARGET), hints=hints, watch=Look(observe))
    files["kernel.ll"] = without_debug_lines(compiled.llvm_text)
    files["kernel.ptx"] = body(compiled.ptx)
    return {file: "\n".join(map(str.rstrip, text.splitlines())).rstrip("\n") + "\n" for file, text in files.items()}


def without_debug_lines(text: str) -> str:
    """The LLVM text without references to source lines, which change with every edit above the kernel."""
    text = re.sub(r",? !dbg !\d+", "", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("!"))


def body(ptx: str) -> str:
    """The code alone: no header with versions, no debug sections, no lines and paths of the source."""
    code = ptx[ptx.index(".visible .entry"):].split("\n\t.file", 1)[0].split("\n\t.section", 1)[0]
    lines = [line for line in code.splitlines() if not re.match(r"\s*(//|\.loc|\$L__tmp|\$L__func)", line)]
    return "\n".join(re.sub(r"\s*// .*$", "", line) for line in lines)


@pytest.mark.parametrize("name", KERNELS)
def test_stages(name: str, update_golden: bool) -> None:
    folder = GOLDEN / name
    files = stages(name)
    if update_golden:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text)
    assert sorted(files) == sorted(path.name for path in folder.iterdir()), "other stages than the golden files"
    for file, text in files.items():
        assert text == (folder / file).read_text(), f"{name}/{file} differs; --update-golden rewrites it"
