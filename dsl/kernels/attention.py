"""Attention with gradients, and attention of one query of each sequence against pages of keys and values."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from tilewright.kernels.arrays import Array, alike, dtype_of, empty, on_host, view
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_same_dtype, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import attention as device
from tilewright.kernels.device.attention import Mask
from tilewright.kernels.device.common import wide
from tilewright.kernels.launching import blocks, launch, number, power_above
from tilewright.kernels.tiles import SMS, measured, sms_of
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError

WIDEST = 256  # channels of a head, which a block keeps in registers
TALL = 128  # rows of two warpgroups
# decode_attention: blocks that an SM holds, parts of a sequence at most, and what a block costs beside its pages, in
# pages (its first loads find an idle memory).
BLOCKS_OF_AN_SM, MOST_SPLITS, START = 2, 64, 3


# ---- references -----------------------------------------------------------------------------------------------------


def _weights(q: Any, k: Any, causal: bool, window: int, cap: float, scale: float) -> tuple[Any, Any, Any]:
    """Weights, logarithms of sums, and the slope of the cap, of one head: q (m, d), k (n, d)."""
    import numpy as np

    score = q @ k.T * scale
    bent = score / cap if cap else np.zeros_like(score)
    score = cap * np.tanh(bent) if cap else score
    row, column = np.arange(len(q))[:, None] + len(k) - len(q), np.arange(len(k))[None, :]
    kept = np.ones(score.shape, bool)
    kept &= (column <= row) | (not causal)
    kept &= (column > row - window) | (not window)
    score = np.where(kept, score, -np.inf)
    top = np.where(kept.any(1), score.max(axis=1, initial=-np.inf), 0)[:, None]
    e = np.exp(score - top)
    total = e.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[:, 0]
    return e / np.where(total == 0, 1, total), lse, 1 - np.tanh(bent) ** 2


def _heads(q: Any, k: Any, starts: Any) -> Any:
    """For each sequence and head: where its queries are, and its keys."""
    if starts is None:
        group = q.shape[1] // k.shape[1]
        return [((b, h), (b, h // group)) for b in range(q.shape[0]) for h in range(q.shape[1])]
    group = q.shape[1] // k.shape[1]
    spans = [slice(int(a), int(b)) for a, b in itertools.pairwise(starts)]
    return [((s, h), (s, h // group)) for s in spans for h in range(q.shape[1])]


def attention_reference(
    q: Any, k: Any, v: Any, causal: bool = False, window: int = 0, cap: float = 0.0, scale: float | None = None,
    starts: Any = None, longest: int = 0,
) -> Any:
    """The outputs and the logarithms of the row sums in float64."""
    import numpy as np

    scale = scale or 1 / math.sqrt(q.shape[-1])
    out = np.zeros(q.shape)
    lse = np.zeros(q.shape[:3] if starts is None else (q.shape[1], q.shape[0]))
    qw, kw, vw = (x.astype(np.float64) for x in (q, k, v))
    for mine, shared in _heads(q, k, starts):
        weight, sums, _ = _weights(qw[mine], kw[shared], causal, window, cap, scale)
        out[mine] = weight @ vw[shared]
        lse[mine if starts is None else mine[::-1]] = sums
    return out, lse


def attention_backward_reference(
    grad: Any, lse_grad: Any, q: Any, k: Any, v: Any, output: Any, lse: Any, causal: bool = False, window: int = 0,
    cap: float = 0.0, scale: float | None = None, starts: Any = None, longest: int = 0,
) -> Any:
    """The gradients of q, k and v in float64."""
    import numpy as np

    scale = scale or 1 / math.sqrt(q.shape[-1])
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    qw, kw, vw, above = (x.astype(np.float64) for x in (q, k, v, grad))
    for mine, shared in _heads(q, k, starts):
        weight, _, slope = _weights(qw[mine], kw[shared], causal, window, cap, scale)
        dv[shared] += weight.T @ above[mine]
        to_weight = above[mine] @ vw[shared].T
        inner = (weight * to_weight).sum(axis=1, keepdims=True)
        if lse_grad is not None:
            inner = inner - lse_grad[mine if starts is None else mine[::-1]].astype(np.float64)[:, None]
        ds = weight * (to_weight - inner) * slope * scale
        dq[mine] += ds @ kw[shared]
        dk[shared] += ds.T @ qw[mine]
    return dq, dk, dv


def decode_attention_reference(
    q: Any, keys: Any, values: Any, pages: Any, lengths: Any, cap: float = 0.0, scale: float | None = None
) -> Any:
    """The outputs and the logarithms of the row sums in float64."""
    import numpy as np

    scale = scale or 1 / math.sqrt(q.shape[-1])
    out, lse = np.zeros(q.shape), np.zeros(q.shape[:2])
    group = q.shape[1] // keys.shape[2]
    for s, length in enumerate(lengths):
        k, v = (x[pages[s]].reshape(-1, *x.shape[2:])[:length].astype(np.float64) for x in (keys, values))
        for h in range(q.shape[1]):
            weight, sums, _ = _weights(q[s, h:h + 1].astype(np.float64), k[:, h // group], False, 0, cap, scale)
            out[s, h], lse[s, h] = (weight @ v[:, h // group])[0], sums[0]
    return out, lse


# ---- attention ------------------------------------------------------------------------------------------------------


def _check(function: str, q: Array, k: Array, v: Array, window: int, cap: float, starts: Array | None,
           longest: int) -> None:
    check_float(function, q=q, k=k, v=v)
    check_same_dtype(function, q=q, k=k, v=v)
    check_rank(function, "q", q, 4 if starts is None else 3)
    check_rank(function, "k", k, len(q.shape))
    check_shape(function, "v", v, k.shape, "the shape of k")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1] or q.shape[-1] != k.shape[-1]:
        raise TileValueError(f"{function}: q has the shape {tuple(q.shape)} and k {tuple(k.shape)}; the heads of q "
                             "must be a multiple of those of k, and the channels as many")
    if starts is None and q.shape[0] != k.shape[0]:
        raise TileValueError(f"{function}: q has {q.shape[0]} batches and k {k.shape[0]}; they must be as many")
    if q.shape[-1] > WIDEST:
        raise TileUnsupportedFeatureError(f"{function}: heads of {q.shape[-1]} channels are wider than {WIDEST}")
    if window < 0 or cap < 0:
        raise TileValueError(f"{function}: window is {window} and cap {cap}; they must not be negative, 0 is none")
    _check_packed(function, q, k, starts, longest)


def _check_packed(function: str, q: Array, k: Array, starts: Array | None, longest: int) -> None:
    if starts is None:
        return
    check_integer(function, starts=starts)
    check_rank(function, "starts", starts, 1)
    if longest < 1:
        raise TileValueError(f"{function}: longest is {longest}; of packed sequences it must be the length of the "
                             "longest one")
    if q.shape[0] != k.shape[0]:
        raise TileValueError(f"{function}: q has {q.shape[0]} tokens and k {k.shape[0]}; packed, they must be as many")


def _grid(q: Array, starts: Array | None, longest: int) -> tuple[int, int]:
    """The longest number of tokens, and the batches or sequences."""
    return (q.shape[2], q.shape[0]) if starts is None else (longest, starts.shape[0] - 1)


def _tile(function: str, q: Array, mine: int, others: int, few: int = 128) -> tuple[int, int, int]:
    """Of a block, tokens of its own (queries, for gradients of keys: keys) and of the others in an iteration, at most
    `few` where no measured tile is known, and the padded width of a head."""
    width = max(16, power_above(q.shape[-1]))
    found = measured(function, q, d=q.shape[-1])
    # Two bytes an element feed the tensor cores, of which two warpgroups take 128 rows; wider ones and wide heads need
    # the registers, as do the two sums of the gradients of keys and values.
    most = 32 if dtype_of(q).bytes > 2 else 128 if width <= 128 else 64
    tm, tn = (found["m"], found["n"]) if found is not None else (most, few if most == 128 else min(most, few))
    return min(tm, max(16, power_above(mine))), min(tn, max(16, power_above(others))), width


def _tile_of_keys(tile: tuple[int, int, int], q: Array, heads: int, keys: int) -> tuple[int, int, int]:
    """The tile of gradients of keys and values, of so many key heads: half as many keys where blocks of these fit the
    SMs, too. With 8 x 16/2 x 512 x 128 causal the kernel takes 72 us on an H100 in place of 114, with 2 x 16/2 x 1024 x
    128 136 in place of 218, with 1 x 8 x 512 x 64 9.2 in place of 12.7."""
    few = 2 * heads * blocks(number(keys), TALL) <= (SMS if on_host(q) else sms_of(q))
    if tile[0] < TALL or not few:
        return tile
    return TALL // 2, tile[1] * (2 if tile[2] > 64 else 1), tile[2]


def _mask(causal: bool, window: int, cap: float, scale: float | None) -> Mask:
    return _same_mask(causal, window or None, cap or None, scale is not None and scale < 0)


@functools.lru_cache(maxsize=256, typed=True)
def _same_mask(*fields: Any) -> Mask:
    """One object for each mask: launches in machine code know constants of other classes by identity."""
    return Mask(*fields)


@library_function(reference=attention_backward_reference)
def attention_backward(
    grad: Array, lse_grad: Array | None, q: Array, k: Array, v: Array, output: Array, lse: Array,
    causal: bool = False, window: int = 0, cap: float = 0.0, scale: float | None = None, starts: Array | None = None,
    longest: int = 0,
) -> tuple[Array, Array, Array]:
    """The gradients of `attention` for q, k and v, with the same bits in every run: nothing is added atomically.

    Arguments: `grad`, the cotangent of the output; `lse_grad`, that of lse, or None; then what `attention` was given,
        and what it returned.
    Result: three arrays like q, k and v, also in the order of their axes in memory.
    """
    name = "attention_backward"
    _check(name, q, k, v, window, cap, starts, longest)
    check_float(name, grad=grad, lse_grad=lse_grad)
    check_shape(name, "grad", grad, q.shape, "the shape of q")
    check_shape(name, "lse_grad", lse_grad, lse.shape, "the shape of lse")
    tokens, batches = _grid(q, starts, longest)
    keys = k.shape[2] if starts is None else longest
    # Of narrow heads the three sums of a block of queries leave registers for more keys at a time (H100,
    # 4 x 32 x 4096 x 64: 1244 us, by 64 keys 1350). Under a causal mask more of them are hidden: nothing is gained.
    by_query = _tile(name, q, tokens, keys, 128 if q.shape[-1] <= 64 and not causal else 64)
    by_key = _tile_of_keys(_tile(name, q, keys, tokens, 64), q, number(k.shape[1]) * number(batches), keys)
    width = by_query[2]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask = _mask(causal, window, cap, scale)
    delta, dq, dk, dv = empty(lse, lse.shape), alike(q), alike(k), alike(v)
    rows = (q.shape[2], q.shape[0]) if starts is None else (q.shape[0], 1)
    launch(device.row_products, (blocks(rows[0], by_query[0]), q.shape[1], rows[1]), output, grad, lse_grad, delta,
           by_query[0], width)
    given = (q, k, v, grad, lse, delta, starts)
    launch(device.key_gradients, (blocks(keys, by_key[0]), k.shape[1], batches), *given, dk, dv, scale, mask, by_key[1],
           by_key[0], width)
    launch(device.query_gradients, (blocks(tokens, by_query[0]), q.shape[1], batches), *given, dq, scale, mask,
           *by_query)
    return dq, dk, dv


def _gradient(
    grads: Any, q: Any, k: Any, v: Any, causal: Any, window: Any, cap: Any, scale: Any, starts: Any, longest: Any,
    outputs: Any,
) -> Any:
    out, lse = outputs
    made = attention_backward(grads[0], grads[1], q, k, v, out, lse, causal, window, cap, scale, starts, longest)
    return *made, None


@library_function(reference=attention_reference, backward=_gradient, autocast="region")
def attention(
    q: Array, k: Array, v: Array, causal: bool = False, window: int = 0, cap: float = 0.0, scale: float | None = None,
    starts: Array | None = None, longest: int = 0,
) -> tuple[Array, Array]:
    """softmax(q k^T * scale) v for each head, in one pass: the scores exist in registers alone.

    Arguments: `q` (batch, heads, tokens, d), `k` and `v` (batch, key heads, keys, d), floats of one dtype with any
        strides, d at most 256; the heads of q are a multiple of the key heads. With `starts`, integers
        (sequences + 1,), sequences are packed: all three are (tokens, heads, d), and `longest` is the length of
        the longest one.
    Options: `causal`: query i sees keys up to i + keys - queries; `window`: of those, the last ones, this many;
        `cap`: scores become cap * tanh(score / cap); `scale`, by default 1 / sqrt(d).
    Result: the output, like q, also in the order of its axes in memory, and the logarithm of the sum of each row,
        (batch, heads, tokens), packed (heads, tokens).
        A query that sees no key has the output 0 and -inf.
    Errors: TileTypeError for dtypes that differ; TileValueError for shapes that do not fit; TileUnsupportedFeatureError
        for wider heads.
    """
    _check("attention", q, k, v, window, cap, starts, longest)
    tokens, batches = _grid(q, starts, longest)
    # Of narrow heads tiles for two CTAs per SM: one computes weights while the other multiplies, begins or ends.
    keys = k.shape[2] if starts is None else longest
    tile = _tile("attention", q, tokens, keys, 64 if q.shape[-1] <= 64 else 128)
    out = alike(q)
    lse = empty(q, q.shape[:3] if starts is None else (q.shape[1], q.shape[0]), wide(dtype_of(q)))
    launch(device.attend, (blocks(tokens, tile[0]), q.shape[1], batches), q, k, v, starts, out, lse,
           1 / math.sqrt(q.shape[-1]) if scale is None else scale, _mask(causal, window, cap, scale), *tile)
    return out, lse


# ---- decoding -------------------------------------------------------------------------------------------------------


@library_function(reference=decode_attention_reference)
def decode_attention(
    q: Array, keys: Array, values: Array, pages: Array, lengths: Array, cap: float = 0.0, scale: float | None = None
) -> tuple[Array, Array]:
    """Attention of one query of each sequence against keys and values in pages. Long sequences are split over blocks,
    whose results are added up by their sums.

    Arguments: `q` (sequences, heads, d); `keys` and `values` (pages, page, key heads, d) of its dtype, page a power of
        two from 16 on; `pages` (sequences, most), integers: which pages hold a sequence, in order; `lengths`
        (sequences,), integers: how many keys it has.
    Options: `cap` and `scale` as of `attention`.
    Result: the output, like q, and the logarithms of the sums (sequences, heads).
    Errors: those of `attention`.
    """
    name = "decode_attention"
    check_float(name, q=q, keys=keys, values=values)
    check_same_dtype(name, q=q, keys=keys, values=values)
    check_integer(name, pages=pages, lengths=lengths)
    check_rank(name, "q", q, 3)
    check_rank(name, "keys", keys, 4)
    check_shape(name, "values", values, keys.shape, "the shape of keys")
    check_shape(name, "lengths", lengths, (q.shape[0],), "one for each sequence")
    if len(pages.shape) != 2 or pages.shape[0] != q.shape[0]:
        raise TileValueError(f"{name}: pages has the shape {tuple(pages.shape)}; it must have a row for each sequence")
    page, shared, d = keys.shape[1:]
    if shared == 0 or q.shape[1] % shared or q.shape[2] != d or d > WIDEST or power_above(page) != page or page < 16:
        raise TileValueError(f"{name}: q has the shape {tuple(q.shape)} and keys {tuple(keys.shape)}; heads must be a "
                             "multiple of the key heads, channels as many and at most 256, and a page a power of two "
                             "from 16 on")
    splits = _splits(q, number(q.shape[0]) * shared, number(pages.shape[1]))
    dtype = wide(dtype_of(q))
    out, lse = empty(q, q.shape), empty(q, q.shape[:2], dtype)
    # One part is the result; of several, in float32, each block has one of every head.
    parts, part_lse = view(out, (1, *q.shape)), view(lse, (1, *q.shape[:2]))
    if splits > 1:
        parts, part_lse = empty(q, (splits, *q.shape), dtype), empty(q, (splits, *q.shape[:2]), dtype)
    width = max(16, power_above(d))
    launch(device.attend_pages, (splits, shared, q.shape[0]), q, keys, values, pages, lengths, parts, part_lse,
           1 / math.sqrt(d) if scale is None else scale, _mask(False, 0, cap, scale), power_above(q.shape[1] // shared),
           page, width)
    if splits > 1:
        launch(device.combine_parts, (q.shape[0], q.shape[1]), parts, part_lse, out, lse, power_above(splits), width)
    return out, lse


def _splits(q: Array, sequences: int, pages: int) -> int:
    """Over how many blocks each sequence of so many pages is split, of so many (a key head of a sequence is one): the
    power of two with which the last ones are done first, when as many run at a time as the SMs hold."""
    at_a_time = BLOCKS_OF_AN_SM * (SMS if on_host(q) else sms_of(q))
    best, least = 1, blocks(sequences, at_a_time) * (pages + START)
    for splits in (2, 4, 8, 16, 32, MOST_SPLITS):
        cost = blocks(sequences * splits, at_a_time) * (blocks(pages, splits) + START)
        if splits <= pages and cost < least:
            best, least = splits, cost
    return best
