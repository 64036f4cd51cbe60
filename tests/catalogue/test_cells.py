"""Every cell of the language table: the interpreter gives what NumPy gives; so do the simulator and the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue.cells.all import all_batches
from catalogue.cells.kinds import STORED
from catalogue.cells.model import Batch
from catalogue.cells.recorder import checkable, recorded
from catalogue.cells.refusals import Refusal, refusals
from support.thorough import THOROUGH, part

import tilewright as ct
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate_lowered, simulate_optimised
from tilewright.backend_ptx.targets import TARGETS as ALL
from tilewright.backend_ptx.targets import get_target

BATCHES = all_batches()
IDS = [batch.name for batch in BATCHES]
TARGETS = ("sm_80", "sm_90a")
# A part of the batches, for both targets, with and without LLVM; with TILEWRIGHT_THOROUGH all. 11 has no common divisor
# with the turns below, so that each of their combinations occurs.
SIMULATED = part(range(len(BATCHES)), 11)
# Pairs of dtypes go the same ways in hundreds of batches: every third of these.
PAIRS = ("astype", "promotion", "implicit", "bitcast")
INTERPRETED = sorted({*(k for k, batch in enumerate(BATCHES) if not batch.name.startswith(PAIRS)),
                      *part([k for k, batch in enumerate(BATCHES) if batch.name.startswith(PAIRS)], 3)})


@pytest.mark.parametrize("batch", [BATCHES[k] for k in INTERPRETED], ids=[IDS[k] for k in INTERPRETED])
def test_interpreter(batch: Batch) -> None:
    """Chunked, every sixth block by block; and the kernel uses what its cells claim."""
    filled = batch.filled()
    with recorded() as used:
        batch.kernel.interpret(batch.grid, filled.ins, filled.outs)
    batch.check(filled.outs, filled.wants, filled.ignore, "the interpreter")
    if THOROUGH or BATCHES.index(batch) % 6 == 0:
        alone = batch.filled()
        batch.kernel.interpret(batch.grid, alone.ins, alone.outs, mode="single")
        batch.check(alone.outs, filled.outs, filled.ignore, "one block at a time")
    claimed = {name for part in batch.parts for name in part.names if checkable(name)}
    assert claimed <= used, f"{batch.name}: nothing in the kernel is {', '.join(sorted(claimed - used))}"


@pytest.mark.parametrize("index", SIMULATED, ids=[IDS[k] for k in SIMULATED])
def test_simulator(index: int) -> None:
    """Each batch for one of two targets in turn, every third with its warps one at a time in a random order.

    Of every second batch, and of conversions also, what LLVM makes of the text.
    """
    batch = BATCHES[index]
    args = batch.filled()[:2]
    target = TARGETS[index % 2]
    try:
        lowered = batch.kernel.lower(*args, target=target).lowered
    except ct.TileUnsupportedFeatureError as error:
        assert target in str(error)
        target = TARGETS[1]
        lowered = batch.kernel.lower(*args, target=target).lowered

    def check(run: Any, who: str, **how: Any) -> None:
        filled = batch.filled()
        run(lowered, batch.grid, batch.kernel.lower(filled.ins, filled.outs).values, **how)
        batch.check(filled.outs, filled.wants, filled.ignore, f"{who} for {target}")

    how: dict[str, Any] = {"schedule": "random", "seed": index} if index % 3 == 0 else {}
    changed = index // 2 % 2 == 1
    if not changed or "astype" in batch.name:
        check(simulate_lowered, "the code", **how)
    if changed or "astype" in batch.name:
        check(simulate_optimised, "LLVM's code", target=target, **how)


ALL_TARGETS = tuple(ALL)
# Conversions and products of formats that are for storage: what differs most between targets. Every third of them.
SMALL = [batch for batch in BATCHES if batch.name.startswith(("astype", "mma", "pack"))
         and any(kind.name in part.dtype for part in batch.parts for kind in STORED)][::3]


@pytest.mark.parametrize("index", range(len(SMALL)), ids=[batch.name for batch in SMALL])
def test_small_floats_assemble(index: int) -> None:
    """PTX that ptxas accepts for each of the targets in turn."""
    filled, target = SMALL[index].filled(), ALL_TARGETS[index % len(ALL_TARGETS)]
    ptx = SMALL[index].kernel.ptx(filled.ins, filled.outs, target=target)
    assert assemble(ptx, get_target(target)).spills == 0


def on_device(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(on_device, value))
    return ct.to_device(value, keep_strides=True) if isinstance(value, np.ndarray) else value


@pytest.mark.gpu
@pytest.mark.parametrize("batch", BATCHES, ids=IDS)
def test_gpu(batch: Batch) -> None:
    """Equal to NumPy; where that is within a bound, within it of the interpreter too."""
    filled = batch.filled()
    ins, outs = on_device(filled.ins), on_device(filled.outs)
    batch.kernel[batch.grid](ins, outs)
    got = [np.asarray(out.to_host()) for out in outs]
    batch.check(got, filled.wants, filled.ignore, "the GPU")
    if any(part.bound for part in batch.parts):
        batch.kernel.interpret(batch.grid, filled.ins, filled.outs)
        batch.check(got, filled.outs, filled.ignore, "the GPU beside the interpreter")


# -- What no cell runs is refused --------------------------------------------------------------------------------------


def by_name() -> dict[str, list[Refusal]]:
    found: dict[str, list[Refusal]] = {}
    for refusal in refusals():
        found.setdefault(refusal.name, []).append(refusal)
    return found


REFUSALS = by_name()


@pytest.mark.parametrize("name", REFUSALS, ids=lambda n: n.replace(" ", "-"))
def test_refused(name: str) -> None:
    """A dtype, or a pair of them, that no cell of a name runs raises an error in the user's words."""
    word = "matmul" if name == "operator @" else name.partition("(")[0].split()[-1].rpartition(".")[2]
    for refusal in REFUSALS[name]:
        reason = refusal.reason()
        assert refusal.dtype.split()[0] in reason or word in reason, f"{name}, {refusal.dtype}: {reason}"
