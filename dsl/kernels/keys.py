"""Reductions of runs of equal keys."""

from __future__ import annotations

import itertools
from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, empty, view, zeros
from tilewright.kernels.checks import check_choice, check_rank
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import keys as device
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.kernels.reductions import OPS, computed_and_stored, kernel_op, neutral_of
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import bool_, int32

# Elements of a tile, and columns at most; tiles whose runs one block joins at a time.
ELEMENTS, WIDEST, CHUNK = 1024, 32, 512


def reduce_by_key_reference(keys: Any, values: Any, op: str = "sum") -> Any:
    """The runs, in float64, of integers in int64."""
    import numpy as np

    wide = values.astype(np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64)
    out_keys, out = np.zeros_like(keys), np.zeros(values.shape, wide.dtype)
    heads = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    for k, (first, stop) in enumerate(itertools.pairwise([*heads, len(keys)])):
        out_keys[k], out[k] = keys[first], getattr(np, op)(wide[first:stop], axis=0)
    return out_keys, out, np.array([len(heads)], np.int32)


@library_function(reference=reduce_by_key_reference)
def reduce_by_key(keys: Array, values: Array, op: str = "sum") -> tuple[Array, Array, Array]:
    """One key and one reduction for each run of equal keys that stand next to each other. Sort the keys before, for one
    run of each.

    Arguments: `keys`, numbers (n,); `values`, numbers (n, ...); `op`, "sum", "prod", "max" or "min".
    Result: the keys, (n,), and the reductions, (n, ...), of which the first ones belong to runs, in their order, and
        others are 0; and how many runs there are, int32 (1,): so no number comes to the host. Sums and products of
        integers are int64, other reductions have the dtype of `values`. Floats are added up in float32 (float64 in
        float64), in one order. A NaN equals no key.
    Errors: TileTypeError for bools, TileValueError for shapes that do not fit and for an unknown op.

    Example:
        keys, sums, runs = reduce_by_key(np.array([3, 3, 1, 3]), np.array([1.0, 2.0, 5.0, 7.0]))
        print(keys[: runs[0]], sums[: runs[0]])  # [3 1 3] [3. 5. 7.]
        reduce_by_key(np.array([3, 1]), np.ones(3))  # TileValueError
    """
    name = "reduce_by_key"
    check_choice(name, "op", op, OPS[:1] + OPS[2:])
    check_rank(name, "keys", keys, 1)
    if dtype_of(keys) is bool_:
        raise TileTypeError(f"{name}: keys are bools", hints=["convert them to integers first"])
    if len(values.shape) == 0 or values.shape[0] != keys.shape[0]:
        raise TileValueError(f"{name}: keys has the shape {tuple(keys.shape)} and values {tuple(values.shape)}; values "
                             "must have one entry along their first axis for each key")
    computed, stored = computed_and_stored(name, op, values)
    n, k = keys.shape[0], count(values.shape[1:])
    width = min(power_above(k), WIDEST)
    tile = ELEMENTS // width
    tiles, columns = blocks(n, tile), max(1, blocks(k, width))  # keys are written without columns, too
    counts, firsts, runs = empty(keys, (tiles,), int32), empty(keys, (tiles,), int32), zeros(keys, (1,), int32)
    lasts, carried = empty(values, (tiles, k), computed), empty(values, (tiles, k), computed)
    out_keys, out = zeros(keys, (n,)), zeros(values, (n, k), stored)
    flat = view(values, (n, k))
    how, neutral = kernel_op(op, computed), neutral_of(op, computed)
    launch(device.last_runs, (tiles, columns), keys, flat, counts, lasts, how, computed, neutral, tile, width)
    launch(device.runs_before, (columns,), counts, lasts, firsts, carried, runs, how, neutral,
           min(CHUNK, power_above(tiles)), width)
    launch(device.write_runs, (tiles, columns), keys, flat, firsts, carried, out_keys, out, how, computed, neutral,
           tile, width)
    return out_keys, view(out, values.shape), runs
