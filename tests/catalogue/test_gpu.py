"""Every catalogue kernel on the GPU: equal to the reference and to the interpreter, to the case's bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue.all import all_cases
from catalogue.case import Case

import tilewright as tw


def on_device(args: tuple[Any, ...]) -> tuple[Any, ...]:
    def moved(a: Any) -> Any:
        if isinstance(a, list):
            return [moved(item) for item in a]
        return tw.to_device(a, keep_strides=True) if isinstance(a, np.ndarray) else a

    return tuple(moved(a) for a in args)


@pytest.mark.gpu
@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c.name)
def test_gpu_equals_reference(case: Case) -> None:
    args = on_device(case.args())
    case.kernel[case.grid](*args)
    got = [np.asarray(a.to_host()) for a in case.results(args)]
    case.check(got, case.reference(*case.args()), "the GPU")
    host = case.args()
    case.kernel.interpret(case.grid, *host)
    case.check(got, tuple(np.asarray(a) for a in case.results(host)), "the GPU beside the interpreter")
