"""Results are checked in the run that times them: a wrong kernel stops the benchmark."""

from __future__ import annotations

from typing import Any

# Half a step of the output's last digit, with what float32 arithmetic before it may add.
STEP = {"bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 4e-6}


def require(name: str, ok: Any) -> None:
    """Stop with the name of the work unless `ok`."""
    if not bool(ok):
        raise SystemExit(f"{name}: wrong result, so its time means nothing")


def near(got: Any, want: Any, slack: Any = 0.0) -> bool:
    """|got - want| <= a rounding to got's dtype + `slack` everywhere; a NaN is never near."""
    step = STEP[str(got.dtype).removeprefix("torch.")]
    return bool(((got.double() - want).abs() <= step * want.abs() + slack).all())


def sample_rows(x: Any, count: int = 256) -> Any:
    """Numbers of rows to check: the first and last, and others at random."""
    import torch

    chosen = torch.randint(0, x.shape[0], (count,), device=x.device)
    chosen[0], chosen[-1] = 0, x.shape[0] - 1
    return chosen


def spoil(out: Any) -> None:
    """Fill an output with NaN, so that what a kernel leaves out shows."""
    out.fill_(float("nan"))
