"""AdamW over many tensors in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, view_of_output
from tilewright.kernels.checks import check_float, check_shape
from tilewright.kernels.device import optimisers as device
from tilewright.kernels.launching import blocks, launch
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tracebacks import public

TILE, MOST_BLOCKS = 1024, 264  # blocks that share a tensor: twice the SMs of an H200


def adamw_reference(
    values: Any, grads: Any, means: Any, squares: Any, step: int, rate: float = 1e-3, betas: Any = (0.9, 0.999),
    eps: float = 1e-8, decay: float = 0.01,
) -> None:
    """The same in the dtype of the arrays, which change."""
    import numpy as np

    for p, g, m, s in zip(values, grads, means, squares, strict=True):
        m += (g - m) * (1 - betas[0])
        s += (g * g - s) * (1 - betas[1])
        p *= 1 - rate * decay
        p -= rate * (m / (1 - betas[0] ** step)) / (np.sqrt(s / (1 - betas[1] ** step)) + eps)


def _check(lists: dict[str, Sequence[Array]]) -> None:
    values = lists["values"]
    for name, arrays in lists.items():
        if len(arrays) != len(values):
            raise TileValueError(f"adamw: there are {len(values)} values and {len(arrays)} {name}; they must be as "
                                 "many")
        for k, (x, value) in enumerate(zip(arrays, values, strict=True)):
            check_float("adamw", **{f"{name}[{k}]": x})
            check_shape("adamw", f"{name}[{k}]", x, value.shape, f"the shape of values[{k}]")
            if dtype_of(x) is not dtype_of(arrays[0]):
                raise TileTypeError(f"adamw: {name}[{k}] has the dtype {dtype_of(x)} and {name}[0] has "
                                    f"{dtype_of(arrays[0])}; the arrays of one list must have one dtype",
                                    hints=["call adamw once for each dtype"])


@public
def adamw(
    values: Sequence[Array], grads: Sequence[Array], means: Sequence[Array], squares: Sequence[Array], step: int,
    rate: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, decay: float = 0.01,
) -> None:
    """One step of AdamW, in place, for all tensors of a list in one launch. It computes in the dtype of `means`.

    Arguments: `values`, which change; `grads`; `means` and `squares`, of one dtype, zeros before the first step, which
        change: lists of arrays of the same shapes, contiguous, of one dtype in each list. `step`, counted from 1.
    Options: `rate`, `betas`, `eps` and `decay`, as torch.optim.AdamW has them (lr, betas, eps, weight_decay).
    Errors: TileTypeError for dtypes that differ in a list; TileValueError for shapes that do not fit.
    """
    _check({"values": values, "grads": grads, "means": means, "squares": squares})
    if step < 1:
        raise TileValueError(f"adamw: step is {step}; steps are counted from 1")
    kept = [k for k, value in enumerate(values) if count(value.shape)]
    if not kept:
        return
    flat = [[view_of_output("adamw", x[k], (count(x[k].shape),)) for k in kept]
            for x in (values, grads, means, squares)]
    longest = max(x.shape[0] for x in flat[0])
    launch(device.adamw_step, (min(blocks(longest, TILE), MOST_BLOCKS), len(kept)), *flat, rate, 1 - betas[0],
           1 - betas[1], eps, decay, 1 / (1 - betas[0] ** step), 1 / (1 - betas[1] ** step), TILE)


adamw.reference = adamw_reference  # type: ignore[attr-defined]  # as every function of the library has one
