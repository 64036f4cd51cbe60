"""Every Tile IR dump parses back, verifies, prints the same, and runs to bitwise the same result."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue.all import one_per_kernel
from catalogue.case import Case, compare

from tilewright.backend_ptx import backend_dumps
from tilewright.frontend import translate
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

# Passes that may change a result's bits, with the bound that applies instead (docs/architecture.md lists them).
REASSOCIATES = {"split_reductions": "sums and products of floats combine in another order: n * eps * sum|x|"}


def dumps(case: Case) -> dict[str, str]:
    """The text after the frontend, after each pass, and after each pass of the backend."""
    function = translate(case.kernel._pyfunc, case.kernel.arg_specs(*case.args()))
    out = {"frontend": to_text(function)}

    def observe(name: str, now: Function) -> None:
        out[name] = to_text(now)

    run_pipeline(function, verify=True, observer=observe)
    backend_dumps(function, "sm_80", observe)
    return out


def run(case: Case, function: Function) -> list[np.ndarray]:
    args = case.args()
    runtime = [a for a, spec in zip(args, case.kernel.arg_specs(*args), strict=True) if hasattr(spec, "erased")]
    compile_function(function).run(tuple(case.grid) + (1,) * (3 - len(case.grid)), runtime)
    return [np.asarray(args[i]) for i in case.outputs]


@pytest.mark.parametrize("case", one_per_kernel(), ids=lambda c: c.name)
def test_dumps_run(case: Case) -> None:
    texts = dumps(case)
    first = run(case, parse(texts["frontend"]))
    for stage, text in texts.items():
        function = parse(text, f"{stage}.tile")
        verify(function)
        assert to_text(function) == text, f"{case.name}: {stage} prints differently after parsing"
        for got, want in zip(run(case, function), first, strict=True):
            if case.bound is None:
                compare(got, want, None, f"{case.name}: after {stage}")
            else:
                case.check([got], (want,), f"after {stage}")
