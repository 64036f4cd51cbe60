"""Bounds on the initiation interval, against counts made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.sweep import kernels

import tilewright as tw
from tilewright.backend_ptx.resources.pipes import FMA, LSU, MUFU, TENSOR, TMA, Bound, bounds, pipes_of
from tilewright.backend_ptx.targets import TARGETS
from tilewright.inspecting.decisions import decisions

A, Q = "bf16[2048,2048]", "bf16[8,2048,128]"
GEMM = (kernels.gemm, (A, A, A, 128, 256, 64))
ATTENTION = (kernels.attention, (Q, Q, Q, Q, "f32[8,2048]", 0.1, 128, 128, 128, False, False, False))


def bound(kernel: Any, args: tuple[Any, ...], target: str) -> Bound:
    stages = kernel.lower(*(tw.spec(a) if isinstance(a, str) else a for a in args), target=target)
    found, *_ = bounds(stages.machine_ir(), stages.target)
    return found


def test_a_gemm_keeps_the_tensor_cores_busy() -> None:
    found = bound(*GEMM, "sm_90a")
    assert found.pipe == TENSOR
    assert found.cycles[TENSOR] == 128 * 256 * 64 / 2048 == found.interval
    assert found.cycles[TMA] == 2 * (128 * 64 + 64 * 256) / 64


def test_the_same_by_mma_sync_reads_operands_again() -> None:
    """On sm_80 both operands come by cp.async and pass through registers: each crosses the load/store pipe twice."""
    found = bound(*GEMM, "sm_80")
    assert found.cycles[TENSOR] == 128 * 256 * 64 / 1024
    assert found.cycles[LSU] == 2 * 2 * (128 * 64 + 64 * 256) / 128 and TMA not in found.cycles


def test_attention_has_half_as_many_cycles_of_exponentials_as_of_multiplies() -> None:
    found = bound(*ATTENTION, "sm_90a")
    assert found.pipe == TENSOR and found.cycles[TENSOR] == 2 * 128**3 / 2048
    assert found.cycles[MUFU] == pytest.approx(128 * 128 / 16, rel=0.02)  # and one for each row
    assert found.cycles[FMA] > 128 * 128 / 128


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_its_pipes(target: str) -> None:
    found = pipes_of(TARGETS[target])
    assert {TENSOR, FMA, MUFU, LSU} <= found.keys()
    assert all(pipe.rate > 0 and pipe.latency > pipe.issue > 0 for pipe in found.values())


def test_decisions_name_the_pipe_that_binds() -> None:
    kernel, args = GEMM
    lines = decisions(kernel, tuple(tw.spec(a) if isinstance(a, str) else a for a in args), "sm_90a")
    assert "initiation_interval: at least 1024 cycles (bound by the tensor cores, TMA 768)" in lines
