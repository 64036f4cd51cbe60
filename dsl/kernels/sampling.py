"""Sampling a token of each row of logits."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, output
from tilewright.kernels.checks import check_float, check_rank
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import sampling as device
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import int32

CHUNK = 4096


def sample_reference(
    logits: Any, seed: int, temperature: float = 1.0, most: int = 0, share: float = 1.0
) -> Any:
    """The tokens, by the same random numbers, which a kernel makes."""
    import numpy as np

    m, n = logits.shape
    u = np.zeros((m, n), np.float32)
    device.uniform_numbers[(m, blocks(n, 64))](u, seed, 64)
    t = logits.astype(np.float64)
    w = np.exp((t - t.max(axis=1, keepdims=True)) / temperature)
    falling = np.sort(w, axis=1)[:, ::-1]
    least = np.zeros(m)
    if most:
        least = falling[:, min(most, n) - 1]
    if share < 1:
        enough = np.cumsum(falling, axis=1) >= share * w.sum(axis=1, keepdims=True)
        least = np.maximum(least, falling[np.arange(m), enough.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        score = np.where(w >= least[:, None], np.log(w), -np.inf) - np.log(-np.log(u.astype(np.float64)))
    return score.argmax(axis=1).astype(np.int32)


@library_function(reference=sample_reference)
def sample(
    logits: Array, seed: int, temperature: float = 1.0, most: int = 0, share: float = 1.0, *, out: Array | None = None
) -> Array:
    """A token of each row, drawn with a probability in proportion to exp(logits / temperature), computed in float32.

    Nothing is sorted: the least probability that stays is found bit by bit. The result depends on the seed alone.

    Arguments: `logits`, floats (rows, tokens), at least one finite in each row; `seed`.
    Options: `temperature`, above 0; `most`, of the most probable tokens only so many (top-k), 0 for all; `share`, only
        the most probable ones that have this share of the probability together (top-p). Tokens as probable as the
        last one that counts stay, too. `out`, int32 (rows,), to write to.
    Result: the tokens, int32 (rows,).
    Errors: TileTypeError for another dtype, TileValueError for options out of range.
    """
    check_float("sample", logits=logits)
    check_rank("sample", "logits", logits, 2)
    if not temperature > 0 or most < 0 or not 0 < share <= 1:
        raise TileValueError(f"sample: temperature is {temperature}, most {most} and share {share}; temperature must "
                             "be above 0, most not negative, and share above 0 and at most 1")
    rows, tokens = logits.shape
    if tokens == 0:
        raise TileValueError("sample: logits has no token")
    result = output("sample", out, logits, (rows,), int32)
    launch(device.sample_rows, (rows,), logits, result, 1 / temperature, min(most, int(tokens)) or None,
           share if share < 1 else None, seed, min(CHUNK, power_above(tokens)))
    return result
