"""One mistake takes at most 15 lines: in a script, in pytest and in IPython, for 39 mistakes that people make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tilewright.tracebacks import HIDDEN

MOST = 15
HEAD = """import numpy as np
import tilewright as tw

x, y = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)

def inner(t):
    return t + tw.zeros((32, 32), tw.float32)

def outer(t):
    return inner(t) * 2

def forever(t):
    return forever(t)

def lookup(table, key):
    return table[key]

@tw.tile_kernel(grid="N")
def named(x: tw.Array["N", "M"], y: tw.Array["N", "M"]):
    pass

@tw.tile_kernel
def kernel(x, y, n: tw.Constant[int], width=16):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (n, 64))
    u = tw.load(y, (0, i), (64, n))
"""
CALL = "kernel[(4,)](x, y, 16)"
# name -> the kernel's next line, the call, what must be said
MISTAKES = {
    "unknown_name": ("tw.store(y, (i, 0), t * scale)", CALL, "scale"),
    "shapes": ("tw.store(y, (i, 0), t + u)", CALL, "do not fit together"),
    "matmul": ("tw.store(y, (i, 0), t @ t)", CALL, "64"),
    "rank": ("tw.store(y, i, t)", CALL, "index"),
    "element": ("tw.store(y, (i, 0), t[0, 64])", CALL, "64"),
    "not_constant": ("v = tw.load(x, (i, 0), (width, 64))", CALL, "onstant"),
    "power_of_two": ("pass", "kernel[(4,)](x, y, 15)", "powers of two"),
    "syntax": ("try: tw.store(y, (i, 0), t)\n    except ValueError: pass", CALL, "try"),
    "numpy_in_a_kernel": ("tw.store(y, (i, 0), np.exp(t))", CALL, "exp"),
    "no_grid": ("pass", "kernel(x, y, 16)", "grid"),
    "missing_argument": ("pass", "kernel[(4,)](x, 16)", "2 were given"),
    "assertion": ("tw.assert_(t > 0, 'must be positive')", CALL, "must be positive"),
    "in_helpers": ("v = outer(t)", CALL, "do not fit together"),
    "recursion": ("v = forever(t)", CALL, "forever"),
    "branches": ("if i > 0: v = 1.0\n    else: v = t\n    tw.store(y, (i, 0), v)", CALL, "float constant 1.0"),
    "one_branch": ("if i > 0: v = 1.0\n    tw.store(y, (i, 0), v)", CALL, "v"),
    "loop": ("s = 0\n    for k in range(3): s += tw.sum(t)", CALL, "float32"),
    "typo": ("v = tw.arrange(16, dtype=tw.int32)", CALL, "arange"),
    "method": ("tw.store(y, (i, 0), t.relu())", CALL, "relu"),
    "wrong_keyword": ("v = tw.sum(t, dim=1)", CALL, "dim"),
    "axis": ("v = tw.sum(t, axis=2)", CALL, "axis"),
    "and_of_tiles": ("v = t > 0 and t < 1", CALL, "&"),
    "a_list": ("xs = ys = [t]; ys.append(t)", CALL, "list"),
    "narrowing": ("tw.store(y, (i, 0), t.astype(tw.float64))", CALL, "astype"),
    "returned": ("return t", CALL, "return"),
    "array_arithmetic": ("tw.store(y, (i, 0), x / 2)", CALL, "load"),
    "static_eval": ("v = tw.static_eval({}['a'])", CALL, "KeyError"),
    "static_eval_of_a_function": ("v = tw.static_eval(lookup({}, 'a'))", CALL, "return table[key]"),
    "static_assert": ("tw.static_assert(n == 8, 'n must be 8')", CALL, "n must be 8"),
    "list_argument": ("pass", "kernel[(4,)]([1, 2], y, 16)", "x"),
    "unknown_argument": ("pass", "kernel[(4,)](x, y, 16, wide=3)", "wide"),
    "overflow": ("pass", "kernel[(4,)](x, y, 16, width=1 << 40)", "width"),
    "grid_of_four": ("pass", "kernel[(4, 1, 1, 1)](x, y, 16)", "grid"),
    "read_only": ("tw.store(x, (i, 0), t)", "x.flags.writeable = False; kernel[(4,)](x, y, 16)", "read-only"),
    "dimensions": ("pass", "named(x, y[:3])", "N"),
    "option": ("pass", "tw.tile_kernel(occupancy=77)(kernel)", "occupancy"),
    "spec": ("pass", "tw.spec('f33[4]')", "f33"),
    "simulated": ("i += 100; v = tw.gather(x, (i, i), check_bounds=False); tw.store(y, (i, 0), v)",
                  "kernel.simulate((4,), x, y, 16, target='sm_80')", "x"),
    "checked": ("k = tw.arange(64, dtype=tw.int32)\n"
                "    tw.store(x, (i, 0), t + tw.gather(y, (i + 61, k), check_bounds=False)[None])",
                "kernel.interpret((4,), x, y, 16, check=True)", "error (bounds): gather accesses y[64, 0]"),
}


def source(name: str) -> tuple[str, str]:
    """The file of a mistake up to the call that fails, and the call."""
    line, call, _ = MISTAKES[name]
    return f"{HEAD}    {line}\n\n", f"{call}\n"


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True,
                          env=os.environ | {"COLUMNS": "120", "TERM": "dumb"}, check=False)
    return done.stdout + done.stderr


def check(told: dict[str, str]) -> None:
    """Every mistake is told, in at most MOST lines."""
    assert told.keys() == MISTAKES.keys()
    for name, text in told.items():
        lines = text.strip("\n").splitlines()
        assert MISTAKES[name][2] in text and len(lines) <= MOST, f"{name}: {len(lines)} lines\n{text}"


# Runs each file as Python runs a script, in one process: its output is what an uncaught exception prints.
AS_SCRIPTS = """
import json, sys, traceback
told = {}
for name in sys.argv[1:]:
    path = name + ".py"
    try:
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__", "__file__": path})
    except Exception as error:
        frames = error.__traceback__.tb_next
        told[name] = "".join(traceback.format_exception(error.with_traceback(frames)))
print(json.dumps(told))
"""


def test_in_a_script(tmp_path: Path) -> None:
    for name in MISTAKES:
        (tmp_path / f"{name}.py").write_text("".join(source(name)))
    told = json.loads(run(tmp_path, "-c", AS_SCRIPTS, *MISTAKES).splitlines()[-1])  # assert_ prints a line first
    check(told)
    printed = run(tmp_path, "shapes.py").replace(f"{tmp_path}/", "")
    assert told["shapes"] == printed, "what is counted is what a script prints"


def test_in_pytest(tmp_path: Path) -> None:
    """With pytest's own options; its headers, rules between tests and the summary are not counted."""
    for name in MISTAKES:
        head, call = source(name)
        (tmp_path / f"test_{name}.py").write_text(f"{head}def test_{name}():\n    {call}")
    printed = run(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tmp_path), ".")
    failures = printed[printed.index("= FAILURES =") : printed.index("= short test summary")]
    parts = re.split(r"^_+ test_(\w+) _+$", failures, flags=re.MULTILINE)[1:]
    check(dict(zip(parts[::2], parts[1::2], strict=True)))


# Cells of a notebook or a session: the kernel in one, the call in the next.
IN_IPYTHON = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
told = {}
for name, (head, call) in json.load(open("cells.json")).items():
    shell.run_cell(head)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        shell.run_cell(call)
    told[name] = printed.getvalue()
print(json.dumps(told))
"""


@pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed")
def test_in_ipython(tmp_path: Path) -> None:
    """IPython's rule and its line `TypeError   Traceback (most recent call last)` are not counted."""
    (tmp_path / "cells.json").write_text(json.dumps({name: source(name) for name in MISTAKES}))
    told = json.loads(run(tmp_path, "-c", IN_IPYTHON).splitlines()[-1])
    check({name: text[text.index("(most recent call last)\n") :].partition("\n")[2] for name, text in told.items()})


def frames(error: BaseException) -> Iterator[str]:
    at = error.__traceback__
    while at is not None:
        yield at.tb_frame.f_code.co_filename
        at = at.tb_next


@pytest.mark.parametrize("name", MISTAKES)
def test_frames_without_source(name: str, tmp_path: Path) -> None:
    """What IPython would show where it is not installed: the cell, and one frame of ours, of which it has no source."""
    path = str(tmp_path / f"{name}.py")
    text = "".join(source(name))
    Path(path).write_text(text)
    with pytest.raises(Exception) as caught:
        exec(compile(text, path, "exec"), {"__name__": name})
    assert list(frames(caught.value))[1:] == [path, HIDDEN]  # after the frame of this test
