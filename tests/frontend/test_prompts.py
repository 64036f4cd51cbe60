"""Kernels that stand in no file: at prompts, in notebooks, in `python -c`, in exec()."""

from __future__ import annotations

import linecache
import os
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tilewright as ct

KERNEL = """
import tilewright as ct

@ct.tile_kernel
def kernel(x):
    ct.store(x, 0, ct.full((4,), 7.0, ct.float32))

{use}
"""
USE = "print('store' in kernel.ir(ct.spec('f32[4]')))"


def run(*command: str, text: str = "") -> tuple[str, str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, env=environment)
    return done.stdout.strip(), done.stderr


def test_command_line() -> None:
    assert run(sys.executable, "-c", KERNEL.format(use=USE))[0] == "True"
    nested = KERNEL.format(use="").replace("@ct", "    @ct").replace("def", "    def").replace("    ct.", "        ct.")
    nested = nested.replace("import tilewright as ct\n", "import tilewright as ct\ndef main():\n")
    out, error = run(sys.executable, "-c", nested + "    return kernel\nkernel = main()\n" + USE)
    assert out == "True", error


def test_standard_input() -> None:
    _, error = run(sys.executable, "-", text=KERNEL.format(use=USE))
    assert "the source text of kernel cannot be read from <stdin>" in error and "at IPython's prompt" in error


def test_exec_inside_of_a_command_line() -> None:
    """The same file name, another text."""
    text = KERNEL.format(use="space = {'ct': ct}\nexec('def other(x):\\n    ct.store(x, 0, 1.0)\\n', space)\n"
                         "ct.tile_kernel(space['other']).ir(ct.spec('f32[4]'))")
    _, error = run(sys.executable, "-c", text)
    assert "the source text of other cannot be read from <string>" in error and "linecache.cache[name]" in error


def test_exec_with_its_text_kept() -> None:
    text, name = KERNEL.format(use=""), "<my kernels>"
    space: dict[str, Any] = {}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)
    x = np.zeros(4, np.float32)
    space["kernel"][1](x)
    assert (x == 7).all()
    bad = text.replace("7.0", "seven")
    linecache.cache[name] = (len(bad), None, bad.splitlines(True), name)
    exec(compile(bad, name, "exec"), space)
    with pytest.raises(ct.TileSyntaxError, match="seven") as caught:
        space["kernel"][1](x)
    assert "ct.store(x, 0, ct.full((4,), seven" in str(caught.value), "the line is shown"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python keeps what is typed at its prompt from 3.13 on")
def test_the_prompt_of_python() -> None:
    script = shutil.which("script")
    if script is None:
        pytest.skip("there is no terminal to type at")
    lines = KERNEL.format(use=USE).strip().replace("\n\n", "\n")
    out, _ = run(script, "-qec", f"{sys.executable} -i", "/dev/null", text=lines + "\n\nexit()\n")
    assert "True" in out


def test_a_cell_of_ipython() -> None:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    result = shell.run_cell(KERNEL.format(use="x = kernel.ir(ct.spec('f32[4]'))"))
    result.raise_error()
    assert "store" in shell.user_ns["x"]
