"""Sampling a token of each row: of the most probable ones, by count and by probability, with the Gumbel trick."""

import math

import tilewright as tw
from tilewright.kernels.device.common import LOWEST, load_wide

# The bits of 1.0: weights are from 0 to 1, and the bits of such floats have their order.
ONE = 0x3F800000


def weights(logits, row, j, chunk, top, sharpness):
    """exp((logits - top) * sharpness) of one chunk, from 0 to 1."""
    return tw.exp((load_wide(logits, (row, j), (1, chunk), LOWEST).astype(tw.float32) - top) * sharpness)


def amount(logits, row, chunk, top, sharpness, least, counted):
    """The sum of the weights whose bits are not below `least`, or their number."""
    total = tw.zeros((1, chunk), tw.float32)
    for j in range(tw.cdiv(logits.shape[1], chunk)):
        w = weights(logits, row, j, chunk, top, sharpness)
        there = (j * chunk + tw.arange(chunk, dtype=tw.int32))[None, :] < logits.shape[1]
        kept = (tw.bitcast(w, tw.int32) >= least) & there
        total += tw.where(kept, 1.0 if counted else w, 0.0)
    return tw.sum(total)


def threshold(logits, row, chunk, top, sharpness, wanted, counted):
    """The largest bits that leave at least the wanted amount: one bit more in each iteration."""
    least, beyond = 0, ONE + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if amount(logits, row, chunk, top, sharpness, middle, counted) >= wanted:
            least = middle
        else:
            beyond = middle
    return least


@tw.tile_kernel
def sample_rows(logits, tokens, sharpness: float, most, share, seed, chunk: tw.Constant[int]):
    """logits: (m, n), tokens: int32 (m,). `most`, a count, and `share`, of the probability, may be None."""
    row = tw.bid(0)
    highest = tw.full((1, chunk), -math.inf, tw.float32)
    for j in range(tw.cdiv(logits.shape[1], chunk)):
        highest = tw.maximum(highest, load_wide(logits, (row, j), (1, chunk), LOWEST).astype(tw.float32))
    top = tw.max(highest)
    least = 0
    if most is not None:
        least = max(least, threshold(logits, row, chunk, top, sharpness, most.astype(tw.float32), True))
    if share is not None:
        total = amount(logits, row, chunk, top, sharpness, 0, False)
        least = max(least, threshold(logits, row, chunk, top, sharpness, share * total, False))
    best, token = -math.inf, 0
    for j in range(tw.cdiv(logits.shape[1], chunk)):
        w = weights(logits, row, j, chunk, top, sharpness)
        column = j * chunk + tw.arange(chunk, dtype=tw.int32)[None, :]
        # The largest of log w - log(-log u) is w's index with a probability in proportion to w.
        luck = -tw.log(-tw.log(tw.random.uniform(seed, row, column, 2.0**-25)))
        kept = (tw.bitcast(w, tw.int32) >= least) & (column < logits.shape[1]) & (w > 0.0)
        score = tw.where(kept, tw.log(w) + luck, -math.inf)
        highest_here = tw.max(score)
        if highest_here > best:
            token = j * chunk + tw.argmax(score.reshape((chunk,)), axis=0)
            best = highest_here
    tw.store(tokens, row, token)


@tw.tile_kernel
def uniform_numbers(out, seed, tile: tw.Constant[int]):
    """The numbers that `sample_rows` draws. out: (m, n)."""
    row, j = tw.bid(0), tw.bid(1)
    column = j * tile + tw.arange(tile, dtype=tw.int32)[None, :]
    tw.store(out, (row, j), tw.random.uniform(seed, row, column, 2.0**-25))
