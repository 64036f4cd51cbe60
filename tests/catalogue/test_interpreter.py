"""Every catalogue kernel in the interpreter: chunked equals the NumPy reference, block by block equals chunked.

Bitwise, but for sums that BLAS makes: those within the bound.
"""

from __future__ import annotations

import numpy as np
import pytest
from catalogue.all import all_cases
from catalogue.case import Case, compare


def run(case: Case, mode: str) -> list[np.ndarray]:
    args = case.args()
    case.kernel.interpret(case.grid, *args, mode=mode)
    return case.results(args)


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c.name)
def test_equals_reference(case: Case) -> None:
    want = case.reference(*case.args())
    got = run(case, "chunked")
    case.check(got, want, "the interpreter")
    for one, many in zip(run(case, "single"), got, strict=True):
        compare(one, many, case.bound if "unordered" in case.tags else None, f"{case.name}: one block at a time")
