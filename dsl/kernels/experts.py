"""A mixture of experts: routing, the layer of experts over gathered rows, and the sum of each token's choices."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, dtype_of, empty, view, zeros
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_same_dtype
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import experts as device
from tilewright.kernels.elementwise import TILE
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import float32, int32

MOST_EXPERTS, CHUNK = 1024, 256


def route_reference(scores: Any, choices: int) -> Any:
    """The best experts, and their shares in float64."""
    import numpy as np

    chosen = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :choices]
    best = np.take_along_axis(scores.astype(np.float64), chosen, axis=1)
    weight = np.exp(best - best.max(axis=1, keepdims=True))
    return chosen.astype(np.int32), weight / weight.sum(axis=1, keepdims=True)


def sort_by_expert_reference(chosen: Any, experts: int, tile: int = 64) -> Any:
    """The slots by expert, padded to tiles, and the expert of each tile."""
    import numpy as np

    flat = chosen.reshape(-1)
    tiles = most_tiles(flat.size, experts, tile)
    rows, owners = np.full(tiles * tile, device.NOTHING, np.int32), np.full(tiles, experts - 1, np.int32)
    at = 0
    for expert in range(experts):
        mine = np.flatnonzero(flat == expert)
        rows[at * tile:at * tile + len(mine)] = mine
        owners[at:at + blocks(len(mine), tile)] = expert
        at += blocks(len(mine), tile)
    return rows, owners


def expert_linear_reference(
    x: Any, weight: Any, rows: Any, owners: Any, slots: int, divide: int = 1, shares: Any = None
) -> Any:
    """The rows of each slot in float64."""
    import numpy as np

    out, tile = np.zeros((slots, weight.shape[1])), len(rows) // len(owners)
    for k, slot in enumerate(rows):
        if slot < slots:
            out[slot] = weight[owners[k // tile]].astype(np.float64) @ x[slot // divide].astype(np.float64)
    return out if shares is None else out * shares.astype(np.float64).reshape(-1, 1)


def add_choices_reference(parts: Any) -> Any:
    """The sum over the choices in float64."""
    import numpy as np

    return parts.astype(np.float64).sum(axis=1)


def most_tiles(slots: int, experts: int, tile: int) -> int:
    """How many tiles there can be: each expert leaves at most one unfinished."""
    return blocks(slots, tile) + experts


@library_function(reference=route_reference)
def route(scores: Array, choices: int) -> tuple[Array, Array]:
    """The best experts of each token, and their shares: the softmax of their scores. Of equal scores the first counts.

    Arguments: `scores`, floats (tokens, experts), at most 1024 experts; `choices`, a power of two.
    Result: the experts, int32 (tokens, choices), the best first, and the shares, float32.
    Errors: TileTypeError for another dtype; TileValueError for choices that are no power of two or too many.
    """
    check_float("route", scores=scores)
    check_rank("route", "scores", scores, 2)
    tokens, experts = scores.shape
    if not 1 <= choices <= experts or power_above(choices) != choices or experts > MOST_EXPERTS:
        raise TileValueError(f"route: choices is {choices} of {experts} experts; it must be a power of two, at most as "
                             f"many as there are experts, and these at most {MOST_EXPERTS}")
    chosen, shares = empty(scores, (tokens, choices), int32), empty(scores, (tokens, choices), float32)
    width = power_above(experts)
    rows = max(1, TILE // width)
    launch(device.choose, (blocks(tokens, rows),), scores, chosen, shares, choices, rows, width)
    return chosen, shares


@library_function(reference=sort_by_expert_reference)
def sort_by_expert(chosen: Array, experts: int, tile: int = 64) -> tuple[Array, Array]:
    """The slots in the order of their experts, without a copy to the host: slot t * choices + c is the choice c of
    token t. The order within an expert is that of the slots, the same in every run.

    Arguments: `chosen`, integers (tokens, choices), as `route` gives them; `experts`, their number; `tile`, a power of
        two: each expert's slots are padded to whole tiles.
    Result: the slots, int32, as many tiles as there can be, 2**31 - 1 where there is none; and the expert of each tile.
    Errors: TileTypeError for another dtype; TileValueError for a tile that is no power of two.
    """
    check_integer("sort_by_expert", chosen=chosen)
    check_rank("sort_by_expert", "chosen", chosen, 2)
    if tile < 1 or power_above(tile) != tile or not 1 <= experts <= MOST_EXPERTS:
        raise TileValueError(f"sort_by_expert: tile is {tile} and experts {experts}; a tile must be a power of two, "
                             f"and experts from 1 to {MOST_EXPERTS}")
    slots = chosen.shape[0] * chosen.shape[1]
    flat, width = view(chosen, (slots,)), power_above(experts)
    tiles = most_tiles(slots, experts, tile)
    counts = zeros(chosen, (experts,), int32)
    rows, owners = empty(chosen, (tiles * tile,), int32), empty(chosen, (tiles,), int32)
    chunk = max(16, 4096 // width)
    launch(device.count_slots, (blocks(slots, chunk),), flat, counts, chunk, width)
    launch(device.place_slots, (experts,), flat, counts, rows, owners, tile, CHUNK, width)
    return rows, owners


@library_function(reference=expert_linear_reference)
def expert_linear(
    x: Array, weight: Array, rows: Array, owners: Array, slots: int, divide: int = 1, shares: Array | None = None
) -> Array:
    """A matrix multiply for each expert over the rows of its slots, which are gathered while they are multiplied.

    Arguments: `x`, floats (inputs, k); `weight`, (experts, n, k) of its dtype; `rows` and `owners`, as `sort_by_expert`
        gives them; `slots`, their number; `divide`: slot s reads row s // divide of x (choices for tokens, 1 for
        slots); `shares`, float32, one for each slot, or None.
    Result: an array (slots, n) like `x`: shares[s] * weight[e] @ x[s // divide].
    Errors: TileTypeError for other dtypes, TileValueError for shapes that do not fit.
    """
    name = "expert_linear"
    check_float(name, x=x, weight=weight, shares=shares)
    check_same_dtype(name, x=x, weight=weight)
    check_integer(name, rows=rows, owners=owners)
    check_rank(name, "x", x, 2)
    check_rank(name, "weight", weight, 3)
    if x.shape[1] != weight.shape[2] or owners.shape[0] == 0 or rows.shape[0] % owners.shape[0]:
        raise TileValueError(f"{name}: x has the shape {tuple(x.shape)}, weight {tuple(weight.shape)}, rows "
                             f"{tuple(rows.shape)} and owners {tuple(owners.shape)}; x and weight must end alike, and "
                             "rows be whole tiles, one for each owner")
    flat = None if shares is None else view(shares, (slots,))
    tm, n, k = rows.shape[0] // owners.shape[0], weight.shape[1], weight.shape[2]
    tn, tk = min(128, max(16, power_above(n))), min(64 if dtype_of(x).bytes == 2 else 32, max(16, power_above(k)))
    out = zeros(x, (slots, n))
    launch(device.multiply_rows, (blocks(n, tn), owners.shape[0]), x, weight, rows, owners, flat, out, divide, tm, tn,
           tk)
    return out


@library_function(reference=add_choices_reference)
def add_choices(parts: Array) -> Array:
    """The sum of each token's choices, in their order: (tokens, choices, n), choices a power of two, to (tokens, n)."""
    check_float("add_choices", parts=parts)
    check_rank("add_choices", "parts", parts, 3)
    tokens, choices, n = parts.shape
    if power_above(choices) != choices:
        raise TileValueError(f"add_choices: parts has {choices} choices; their number must be a power of two")
    width = min(power_above(n), TILE // min(choices, 16))
    rows = max(1, TILE // (width * choices))
    out = empty(parts, (tokens, n))
    launch(device.add_choices, (blocks(n, width), blocks(tokens, rows)), parts, out, rows, choices, width)
    return out
