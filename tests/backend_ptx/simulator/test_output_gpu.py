"""What a GPU's printf writes is what the interpreter writes; a failed assertion ends the program."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.printing import CASES, integers

import tilewright as ct

_PRINTED = re.compile(r"\[\[.*?\]\]|[^\[\]\n]+|\n")  # a tile of rank 2, a text, the end of a line


def flushed(capfd: pytest.CaptureFixture[str]) -> str:
    """All that reached file descriptor 1, the C library's buffer included."""
    ctypes.CDLL(None).fflush(None)
    return capfd.readouterr().out


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_prints_what_the_interpreter_prints(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    kernel, make, grid = CASES[name]
    kernel.interpret((grid,), make())
    expected = flushed(capfd)
    on_device = ct.to_device(make())
    kernel[(grid,)](on_device)
    on_device.to_host()
    got = flushed(capfd)
    if grid == 1:
        assert got == expected
    else:  # blocks come in any order, also between two prints of one of them
        assert sorted(_PRINTED.findall(got)) == sorted(_PRINTED.findall(expected))


@pytest.mark.gpu
def test_a_long_print_of_a_block_stays_in_one_piece(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        print(ct.full((64,), ct.bid(0), ct.int32), "end", ct.load(x, 0, 64))

    on_device = ct.to_device(np.arange(64, dtype=np.int32))
    kernel[(200,)](on_device)
    on_device.to_host()
    tail = "end [" + ", ".join(map(str, range(64))) + "]"
    wanted = ["[" + ", ".join([str(b)] * 64) + f"] {tail}" for b in range(200)]
    assert sorted(flushed(capfd).split("\n")) == sorted([*wanted, ""])


@pytest.mark.gpu
def test_prints_survive_many_launches(capfd: pytest.CaptureFixture[str]) -> None:
    on_device = ct.to_device(np.array([-2, -1, 0, 127], np.int32))
    for _ in range(20):
        integers[(1,)](on_device)
    on_device.to_host()
    assert flushed(capfd).count("\n") == 160


@pytest.mark.gpu
def test_a_failed_assertion_ends_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import numpy as np
import tilewright as ct

@ct.kernel
def kernel(x):
    ct.assert_(ct.load(x, ct.bid(0), 64) > 0, "not positive")

x = ct.to_device(np.zeros(64 * 200))
kernel[(200,)](x)
x.to_host()
print("never")
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert [line for line in done.stdout.splitlines() if line] == ["program.py:7: assertion failed: not positive"]
