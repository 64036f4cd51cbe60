"""Every Tile IR dump parses back, verifies, prints the same, and runs to bitwise the same result as the dump before it.

Passes that reassociate, which docs/architecture.md lists with their bounds, may change bits within the case's bound.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue.all import one_per_kernel, some_per_kernel
from catalogue.case import Case, compare

import tilewright as tw
import tilewright.backend_ptx.ops
from tilewright.backend_ptx.compile import backend_dumps
from tilewright.backend_ptx.pipeline import PIPELINE
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
TABLE = PAGE.read_text().split("<!-- reassociates -->")[1].split("<!-- end")[0]
REASSOCIATES = set(re.findall(r"^\| `(\w+)` \|", TABLE, re.MULTILINE))
CASES = some_per_kernel(one_per_kernel())  # `make simulate` takes all


def product_in_order_of_k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b where the shape of the operands has no influence on an element's sum, as it has in a BLAS.

    OpenBLAS's kernels for Haswell and Zen add the columns at the edges of a product in another order than those inside.
    A pass that cuts tiles or transposes them would seem to change bits.
    """
    out = a[..., :, :1] * b[..., :1, :]
    for k in range(1, a.shape[-1]):
        out += a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return out


def dumps(case: Case, target: str) -> list[tuple[str, str]]:
    """The text after the frontend, after each pass, and after each pass of the backend, all with the launch hints."""
    function = case.kernel.lower(*case.args(), target=target).tile_ir(passes=False)
    out = [("frontend", to_text(function))]

    def observe(name: str, now: Function) -> None:
        out.append((name, to_text(now)))

    run_pipeline(function, verify=True, observer=observe)
    try:
        backend_dumps(function, target, observe)
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
    return out


def run(case: Case, text: str, stage: str) -> list[np.ndarray]:
    function = parse(text, f"{stage}.tile")
    verify(function)
    assert to_text(function) == text, f"{case.name}: {stage} prints differently after parsing"
    args = case.args()
    x, y, z = (*case.grid, 1, 1)[:3]
    compile_function(function).run((x, y, z), runtime_arguments(case, args))
    return [np.asarray(a) for a in case.results(args)]


def runtime_arguments(case: Case, args: tuple[Any, ...]) -> list[Any]:
    specs = case.kernel.arg_specs(*args)
    return [a for a, spec in zip(args, specs, strict=True) if hasattr(spec, "erased")]


@pytest.mark.parametrize("index", range(len(CASES)), ids=[c.name for c in CASES])
def test_dumps_run(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "matmul", product_in_order_of_k)
    case = CASES[index]
    target = "sm_90a" if "hopper" in case.tags else case.targets[index % len(case.targets)]
    (_, text), *later = dumps(case, target)
    before = run(case, text, "frontend")
    for stage, now in later:
        if now == text:
            continue  # the pass found nothing to do
        text = now
        got = run(case, text, stage)
        if stage in REASSOCIATES:
            case.check(got, case.reference(*case.args()), f"after {stage}")
        else:
            for g, b in zip(got, before, strict=True):
                compare(g, b, None, f"{case.name}: after {stage}")
        before = got


def test_the_table_names_passes_of_the_backend() -> None:
    assert {p.__name__ for p in PIPELINE} >= REASSOCIATES


def test_the_dumps_of_a_cluster_are_run() -> None:
    """Launch hints reach the passes: without them no cluster would be formed, and none be run."""
    case = next(c for c in one_per_kernel() if c.name == "rows-softmax-in-4")
    _, last = dumps(case, "sm_90a")[-1]
    assert parse(last, "last.tile").plan.cluster == 4
