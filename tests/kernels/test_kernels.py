"""Every function of tilewright.kernels in the interpreter against its NumPy reference: ranks, ragged shapes, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import doc_examples
import ml_dtypes
import numpy as np
import pytest
from support.library_cases import GROUPS, ROUNDING, maker
from support.pages import check as check_program
from support.pages import programs_of

import tilewright as tw
import tilewright.kernels as tk

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def check(name: str, args: tuple[Any, ...], dtype: Any) -> None:
    function = tk.DECLARED[name]
    got, want = function(*args), function.reference(*args)
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    shapes = [getattr(a, "shape", a) for a in args]
    assert len(got) == len(want)
    for mine, right in zip(got, want, strict=True):
        assert mine.shape == np.shape(right), (name, shapes, mine.shape)
        mine, finite = mine.astype(np.float64), np.isfinite(right)
        assert np.array_equal(mine[~finite], right[~finite]), (name, shapes)
        largest = np.abs(right[finite]).max(initial=1e-3)
        far = np.abs(mine[finite] - right[finite]).max(initial=0) / largest
        assert far <= 40 * ROUNDING[np.dtype(dtype).name], (name, shapes, far)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_against_the_reference(group: Callable[..., Any], dtype: Any) -> None:
    for name, args in group(maker(dtype)):
        check(name, args, dtype)


def test_every_function_has_a_case() -> None:
    found = {name for group in GROUPS for name, _ in group(maker(np.float32))}
    assert found == set(tk.DECLARED)
    assert set(tk.DECLARED) <= set(tk.__all__)


PROGRAMS = [program for program in programs_of("kernels.md") if "import torch" not in program.source]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_of_the_page(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check_program(program, tmp_path, capfd)


def test_the_page_names_every_function() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    functions = {name for name in tk.DECLARED if not name.endswith("_backward")}
    assert not {name for name in functions if f"`{name}(" not in page}


def test_arrays_of_unknown_libraries() -> None:
    """They are refused with what to do."""

    class Strange:
        dtype, shape = np.dtype(np.float32), (2, 3)

    with pytest.raises(tw.TileTypeError, match="does not know how to allocate an array beside one of Strange"):
        tk.softmax(Strange())
