"""A transformer of two layers trains by library functions alone, as it does by their references in float64."""

from __future__ import annotations

import numpy as np
from support.small_transformer import Kernels, References, Sizes, batches, start, step, train

SIZES = Sizes()


def test_fifty_steps() -> None:
    data, p = batches(50, SIZES), start(SIZES, np.random.default_rng(1))
    losses = train(Kernels(), p, data, SIZES)
    want = train(References(), p, data, SIZES)
    assert np.abs(np.array(losses) - want).max() < 1e-3
    assert losses[-1] < losses[0] / 3


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    """In float64, along a random direction of all parameters."""
    rng = np.random.default_rng(2)
    p, [(tokens, labels)] = start(SIZES, rng), batches(1, SIZES)
    along = {name: rng.standard_normal(x.shape) for name, x in p.items()}
    _, grads = step(References(), p, tokens, labels, SIZES)
    h = 1e-5
    ahead, behind = (step(References(), {name: x + sign * h * along[name] for name, x in p.items()}, tokens, labels,
                          SIZES)[0] for sign in (1, -1))
    slope = sum(float((grads[name] * along[name]).sum()) for name in p)
    np.testing.assert_allclose((ahead - behind) / (2 * h), slope, rtol=1e-6)
