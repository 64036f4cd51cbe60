"""print, printf, f-strings and assert_: the interpreter and the code for the GPU write the same text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.printing import CASES, large, scalars

import tilewright as ct
from tilewright.backend_ptx.compile import backend_dumps
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.simulator.errors import Trap
from tilewright.interp import compile_function
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text


@pytest.mark.parametrize("schedule", ["inorder", "random"])
@pytest.mark.parametrize("name", CASES)
def test_gpu_code_prints_what_the_interpreter_prints(
    name: str, schedule: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel, make, grid = CASES[name]
    kernel[(grid,)](make())
    expected = capfd.readouterr().out
    assert expected.count("\n") >= grid
    simulate(kernel, (grid,), (make(),), "sm_90a", schedule=schedule)
    assert capfd.readouterr().out == expected


@pytest.mark.parametrize("name", CASES)
def test_every_dump_prints_the_same(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    kernel, make, grid = CASES[name]
    kernel[(grid,)](make())
    expected = capfd.readouterr().out
    seen = 0

    def observe(step: str, function: Any) -> None:
        nonlocal seen
        seen += 1
        text = to_text(function)
        again = parse(text)
        assert to_text(again) == text
        compile_function(again).run((grid, 1, 1), [make()])
        assert capfd.readouterr().out == expected, f"after {step}:\n{text}"

    function = parse(kernel.ir(make()))
    backend_dumps(function, "sm_90a", observe)
    assert seen > 5


def test_texts(capfd: pytest.CaptureFixture[str]) -> None:
    def out(name: str) -> list[str]:
        kernel, make, grid = CASES[name]
        kernel[(grid,)](make())
        return capfd.readouterr().out.split("\n")

    assert out("scalars")[:4] == ["block | 0 | 1.500000 | 150.000000", "", "50% done!", "1,2.5,True,None,text,3.0,-1"]
    assert out("tiles")[1:4] == ["a", "[[0, 0, 0, 0], [1, 1, 1, 1]]", "[6.000000, 22.000000]"]
    assert out("integers")[1] == "[254, 255, 0, 127] [fe, ff, 0, 7f] [254, 255, 0, 127]"
    assert out("objects") == [
        "() (1,) (0,) (1, \"it's\", (0, 2.0), None) Point(x=0, y='why') Point(x=(0, 1), y='z')",
        "0'a'(0, 'b')0 <object of type int32 array of rank 1> (0, 'c')",
        "() (1,) (1,) (1, \"it's\", (1, 2.0), None) Point(x=1, y='why') Point(x=(1, 1), y='z')",
        "1'a'(1, 'b')1 <object of type int32 array of rank 1> (1, 'c')", "",
    ]
    assert out("formats") == [
        "[    3.75,  -120.00]|[3.8e+00 , -1.2e+02]|[+3.750000, -120.000000]|[ 3.75, -120]|[0003.750, -120.000]"
        "|[0X1.EP+1, -0X1.EP+6]|[4., -120.]|[      3.8,    -120.0]",
        "[   3, -120]|[3   , -120]|[+3, -120]|[0003, ffffff88]|[0X3, 0XFFFFFF88]|[3, 37777777610]|[3, -120]"
        "|[3, 4294967176]|[003, -120]",
        "  7|0.500|  a|[      3,    -120]|{}", "",
    ]
    assert out("passed_on") == [
        "<0.750000><0.750000> nested <0.750000><0.750000> and <0.750000>", "turn 0", "never", "",
    ]
    assert out("printf") == [
        "0% [  1.0,   2.0,   3.0,   3.0]",
        "[4294967295, 0, 1, 1] [ffffffff, 0, 1, 1] [100, -56, 44, 44] [40000, 14464, 54464, 54464] [1, 2, 3, 3] "
        "[1.000000, 2.000000, 3.000000, 3.000000] 1.5", "",
    ]


def test_nan_and_infinity(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        t = ct.load(x, 0, 4)
        print(t, f"{t:06.1f}")

    x = np.array([np.nan, np.inf, -np.inf, -np.nan], np.float32)
    kernel[(1,)](x)
    expected = capfd.readouterr().out
    assert expected == "[nan, inf, -inf, nan] [   nan,    inf,   -inf,    nan]\n"
    simulate(kernel, (1,), (x,), "sm_80")
    assert capfd.readouterr().out == expected


def test_a_print_of_many_values_holds_a_lock_and_one_of_few_does_not() -> None:
    text = large.lower(np.zeros((16, 32), np.float32), target="sm_80").lowered.llvm_text
    assert text.count("@vprintf(ptr %") == 16 + 1
    assert text.count("atomicrmw xchg ptr addrspace(1) @print_lock") == 4
    assert "@print_lock" not in scalars.lower(np.zeros(2, np.float32), target="sm_80").lowered.llvm_text


def test_a_gpu_does_not_print_more_than_4096_elements(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        print(ct.load(x, 0, 8192))

    kernel[(1,)](np.zeros(8192, np.int8))
    assert capfd.readouterr().out == "[" + ", ".join("0" * 8192) + "]\n"
    with pytest.raises(ct.TileUnsupportedFeatureError, match="8192 elements at once; a GPU prints up to 4096"):
        kernel.ptx(ct.spec("i8[8192]"))


@ct.tile_kernel
def asserting(x, limit):
    t = ct.load(x, ct.bid(0), 64)
    ct.assert_(t < limit, "100% too large")
    ct.assert_(ct.bid(0) >= 0)
    ct.store(x, ct.bid(0), t + 1)


def test_an_assertion_that_holds_does_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for execute in (lambda *a: asserting[(2,)](*a), lambda *a: simulate(asserting, (2,), a, "sm_80")):
        x = np.arange(128, dtype=np.int32)
        execute(x, 128)
        assert x.tolist() == list(range(1, 129))
    assert capfd.readouterr().out == ""


def test_only_the_blocks_that_get_there_assert_and_print(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        i = ct.bid(0)
        if ct.gather(x, i) > 2:
            ct.assert_(i != 5, "block five")
            print("passed", i)

    x = np.array([3, 0, 4, 1, 2], np.int64)
    for execute in (lambda *a: kernel[(5,)](*a), lambda *a: simulate(kernel, (5,), a, "sm_80")):
        execute(x)
        assert capfd.readouterr().out == "passed 0\npassed 2\n"
    with pytest.raises(ct.TileAssertionError, match=r"block \(5, 0, 0\)"):
        kernel[(8,)](np.array([0, 0, 0, 0, 0, 9, 0, 9]))


@pytest.mark.parametrize("schedule", ["inorder", "random"])
def test_an_assertion_that_fails_writes_one_line_and_ends_all(
    schedule: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    line = f"test_output.py:{asserting.__wrapped__.__code__.co_firstlineno + 3}: assertion failed: 100% too large\n"
    with pytest.raises(ct.TileAssertionError, match=r"block \(1, 0, 0\)"):
        asserting[(3,)](np.arange(192, dtype=np.int32), 127)
    assert capfd.readouterr().out == line
    with pytest.raises(Trap):
        simulate(asserting, (3,), (np.arange(192, dtype=np.int32), 127), "sm_80", schedule=schedule)
    assert capfd.readouterr().out == line


def test_a_program_that_fails_an_assertion_says_so_once_and_exits_with_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import numpy as np
import tilewright as ct

@ct.kernel
def kernel(x):
    ct.assert_(ct.load(x, 0, 4) > 0, "not positive")

kernel[(4,)](np.zeros(4))
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert [line for line in done.stdout.splitlines() if line] == ["program.py:7: assertion failed: not positive"]
    assert "TileAssertionError" in done.stderr
