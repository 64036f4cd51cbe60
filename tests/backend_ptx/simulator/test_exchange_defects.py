"""Compiled kernels whose blocks exchange what they reduce, and defects put into their code: each must be caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from catalogue.cluster_kernels import walked_softmax
from softmax import softmax
from support.simulator.edits import calls, drop, operand, pattern

from tilewright.backend_ptx.simulator import SimError, Unsupported, simulate_lowered

SHAPE = (7, 500)
SCHEDULES: list[dict[str, Any]] = [{}, *({"schedule": "random", "seed": seed} for seed in (1, 2))]
# Once for each row, and again and again by few blocks.
PROGRAMS = {
    "once": (softmax.replace_hints(num_ctas=2), (7,)), "again": (walked_softmax.replace_hints(num_ctas=4), (1,)),
}
Edit = Callable[[str], str]


def arguments() -> tuple[Any, ...]:
    x = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)
    return x, np.zeros(SHAPE, np.float32), 512


@cache
def lowered(name: str) -> Any:
    return PROGRAMS[name][0].lower(*arguments(), target="sm_90a").lowered


def result_of(name: str, code: Any, **how: Any) -> np.ndarray:
    kernel, grid = PROGRAMS[name]
    args = arguments()
    simulate_lowered(code, grid, kernel.lower(*args).values, max_steps=50_000, **how)
    result: np.ndarray = args[1]
    return result


def missed(name: str, text: str) -> list[dict[str, Any]]:
    """The schedules under which the code gives the right result without an error."""
    out = []
    for how in SCHEDULES:
        try:
            got = result_of(name, replace(lowered(name), llvm_text=text), **how)
        except Unsupported:
            raise
        except SimError:
            continue
        if np.allclose(got, right(), rtol=1e-5, atol=1e-9):
            out.append(how)
    return out


@cache
def right() -> np.ndarray:
    x = arguments()[0].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(name: str, how: dict[str, Any]) -> None:
    assert "st.async" in lowered(name).llvm_text
    np.testing.assert_allclose(result_of(name, lowered(name), **how), right(), rtol=1e-5)


SEND, EXPECT, TRY = "st.async", "arrive.expect_tx", "mbarrier.try_wait"
ARRIVE, READY = "barrier.cluster.arrive", "barrier.cluster.wait"
DEFECTS: dict[str, tuple[str, Edit]] = {
    "no wait for the others' start": ("once", partial(drop, part=READY)),
    "nobody says that it has started": ("once", partial(drop, part=ARRIVE)),
    "mbarriers not visible to the others": ("once", partial(drop, part="fence.mbarrier_init")),
    "an mbarrier not initialised": ("once", partial(drop, part="mbarrier.init")),
    "nobody waits for the rows": ("once", partial(drop, part=TRY)),
    "a wait for the phase before": ("once", partial(operand, part=TRY, position=1, by="1")),
    "bytes of one block expected": ("once", partial(operand, part=EXPECT, position=1, by="4")),
    "too many bytes expected": ("once", partial(operand, part=EXPECT, position=1, by="12")),
    "every thread announces": ("once", partial(operand, part=EXPECT, position=2, by="true")),
    "a row for one block twice": ("once", partial(operand, part=SEND, position=2, by="1")),
    "a row in the place of another": ("once", partial(operand, part=SEND, position=0, by="add i32 OLD, 4")),
    "a row on another exchange's mbarrier": ("once", partial(operand, part=SEND, position=1, by="add i32 OLD, 256")),
    "every thread sends": ("once", partial(operand, part=SEND, position=4, by="true")),
    "the slot stays": ("again", partial(pattern, old=r"= and i32 (%\w+), 1$", new=r"= and i32 \1, 0")),
    "the parity stays": ("again", partial(operand, part=TRY, position=1, by="0")),
    "rounds are not counted": ("again", partial(pattern, old=r"= add i32 (%\w+), 1(\n.*= and i32 %\w+, 3)$",
                                                new=r"= add i32 \1, 0\2")),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_caught(defect: str) -> None:
    name, edit = DEFECTS[defect]
    text = edit(lowered(name).llvm_text)
    assert text != lowered(name).llvm_text
    assert missed(name, text) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_of_the_protocol_is_needed(name: str) -> None:
    """A barrier of the block before it sends again is spare where each block is one warp."""
    text = lowered(name).llvm_text
    for step in (SEND, EXPECT, TRY, ARRIVE, READY):
        for which in range(len(calls(text, step))):
            assert missed(name, drop(text, step, which)) == [], f"{name} can do without {step} {which}"
