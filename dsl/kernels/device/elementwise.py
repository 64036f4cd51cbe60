"""Element by element: gates of feed-forward layers, rotary embedding, a user's function of broadcast arrays."""

from typing import Any

import tilewright as tw
from tilewright.kernels.device.activations import activate, slope
from tilewright.kernels.device.common import load_wide, store_as


@tw.tile_kernel
def gate_tiles(gate, up, out, activation: tw.Constant[str], rows: tw.Constant[int], width: tw.Constant[int]):
    """out = activation(gate) * up, all (m, n)."""
    j, i = tw.bid(0), tw.bid(1)
    t = activate(load_wide(gate, (i, j), (rows, width)), activation)
    store_as(out, (i, j), t * load_wide(up, (i, j), (rows, width)))


@tw.tile_kernel
def gate_tiles_backward(grad, gate, up, dgate, dup, activation: tw.Constant[str], rows: tw.Constant[int],
                        width: tw.Constant[int]):
    """All (m, n)."""
    j, i = tw.bid(0), tw.bid(1)
    above, t = load_wide(grad, (i, j), (rows, width)), load_wide(gate, (i, j), (rows, width))
    store_as(dup, (i, j), above * activate(t, activation))
    store_as(dgate, (i, j), above * load_wide(up, (i, j), (rows, width)) * slope(t, activation))


@tw.tile_kernel
def rotate(x, cos, sin, out, inverse: tw.Constant[bool], heads: tw.Constant[int], tokens: tw.Constant[int],
           width: tw.Constant[int]):
    """Channels (i, i + half) of each head turn by an angle of their position, or back. A block takes so many heads and
    tokens of them.

    x, out: (batch, heads, tokens, 2 * half), cos, sin: (tokens, half), half at most width.
    """
    i, head, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    half, at, shape = cos.shape[1], (batch, head, i, 0), (1, heads, tokens, width)
    c = load_wide(cos, (i, 0), (tokens, width)).reshape((1, 1, tokens, width))
    s = load_wide(sin, (i, 0), (tokens, width)).reshape((1, 1, tokens, width))
    if inverse:
        s = -s
    first = load_wide(x.slice(3, 0, half), at, shape)
    second = load_wide(x.slice(3, half, 2 * half), at, shape)
    store_as(out.slice(3, 0, half), at, first * c - second * s)
    store_as(out.slice(3, half, 2 * half), at, second * c + first * s)


def tile_of(x, place, shape, shared):
    """The tile of an array, one element long along the axes that `shared` names; a number as it is."""
    if shared is None:
        return x
    axes = range(len(shape))
    at = tuple(0 if shared[a] else place[a] for a in axes)
    return tw.load(x, at, tuple(1 if shared[a] else shape[a] for a in axes))


@tw.tile_kernel
def transform_tiles(values, out, function: tw.Constant[Any], shared: tw.Constant[Any], shape: tw.Constant[Any]):
    """out = function(*values): arrays of one rank, and numbers. shared[k][a]: whether array k is broadcast along axis
    a; shared[k] is None for a number. The axes of the grid are those of the arrays, the last one first, up to three:
    divisions would take longer than the rest."""
    if len(shape) <= 3:
        place = tuple(tw.bid(axis) for axis in range(len(shape) - 1, -1, -1))
    else:
        place, left = (), tw.bid(0)
        for axis in tw.static_iter(range(len(shape) - 1, -1, -1)):
            tiles = tw.cdiv(out.shape[axis], shape[axis])
            place = (left % tiles, *place)
            left = left // tiles
    tiles = tuple(tile_of(values[k], place, shape, shared[k]) for k in range(len(shared)))
    result = function(*tiles)
    store_as(out, place, tw.broadcast_to(result, shape))
