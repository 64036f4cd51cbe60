"""Rows of a table by token, and the gradient of the table: tokens are listed by row, then each row is written once."""

import tilewright as tw
from tilewright.kernels.device.common import ZERO, store_as

BEHIND = (1 << 31) - 1  # a position behind every token
TOGETHER = 8  # entries of a list that a token is compared with at a time


@tw.tile_kernel
def take_rows(table, tokens, out, tile: tw.Constant[int], width: tw.Constant[int]):
    """out[t] = table[tokens[t]], zeros for tokens outside the table."""
    i, j = tw.bid(0), tw.bid(1)
    token = tw.load(tokens, i, tile, padding_mode=ZERO)
    column = j * width + tw.arange(width, dtype=tw.int32)
    tw.store(out, (i, j), tw.gather(table, (token[:, None], column[None, :]), padding_value=0))


def load_tokens(tokens, i, tile, rows):
    """The places of a tile of tokens, and the rows they name: -1, which is no element of an array, where there is none,
    behind the last token and outside of the table."""
    at = i * tile + tw.arange(tile, dtype=tw.int32)
    token = tw.load(tokens, i, tile, padding_mode=ZERO)
    named = (at < tokens.shape[0]) & (token >= 0) & (token < rows)
    return at, tw.where(named, token, -1).astype(tw.int32)


@tw.tile_kernel
def count_tokens(tokens, counts, ranks, tile: tw.Constant[int]):
    """counts[v] += the tokens that are v; ranks[t]: how many of them came before t, in no order. counts: zeros, one for
    each row of the table."""
    i = tw.bid(0)
    _, row = load_tokens(tokens, i, tile, counts.shape[0])
    rank = tw.atomic_add(counts, row, 1, memory_order=tw.MemoryOrder.RELAXED)
    tw.store(ranks, i, tw.where(row < 0, 0, rank))


def parts_of(count, long):
    """How many parts a list has that is longer than `long`, 0 of other lists."""
    return tw.where(count > long, tw.cdiv(count, long), 0)


def reserved(used, place, lengths):
    """Where stretches of these lengths begin, which do not overlap those of other tiles. used[place]: their sum."""
    before = tw.cumsum(lengths) - lengths
    return tw.atomic_add(used, place, tw.sum(lengths), memory_order=tw.MemoryOrder.RELAXED) + before


@tw.tile_kernel
def place_rows(counts, used, starts, firsts, tile: tw.Constant[int], long: tw.Constant[int]):
    """starts[v]: where the list of row v begins, firsts[v]: which is its first part. Lists lie in no order. used:
    zeros, then the lengths of all lists, and their parts."""
    i = tw.bid(0)
    count = tw.load(counts, i, tile, padding_mode=ZERO)
    tw.store(starts, i, reserved(used, 0, count))
    tw.store(firsts, i, reserved(used, 1, parts_of(count, long)))


@tw.tile_kernel
def list_tokens(tokens, counts, starts, firsts, ranks, lists, owners, tile: tw.Constant[int], long: tw.Constant[int]):
    """lists[starts[v] + r]: the token of row v that has rank r. owners[firsts[v] + p]: row v, for each of its parts."""
    i = tw.bid(0)
    at, row = load_tokens(tokens, i, tile, starts.shape[0])
    rank = tw.load(ranks, i, tile, padding_mode=ZERO)
    tw.scatter(lists, tw.where(row < 0, -1, tw.gather(starts, row) + rank), at)
    opens = (row >= 0) & (tw.gather(counts, row) > long) & (rank % long == 0)
    tw.scatter(owners, tw.where(opens, tw.gather(firsts, row) + rank // long, -1), row)


@tw.tile_kernel
def rank_tokens(tokens, counts, starts, lists, ranks, tile: tw.Constant[int]):
    """ranks[t]: how many of the tokens of the same row stand before t."""
    i = tw.bid(0)
    at, row = load_tokens(tokens, i, tile, counts.shape[0])
    start, count = tw.gather(starts, row), tw.gather(counts, row)
    rank = tw.zeros((tile,), tw.int32)
    for k in range(0, tw.max(count), TOGETHER):
        which = k + tw.arange(TOGETHER, dtype=tw.int32)[None, :]
        other = tw.gather(lists, start[:, None] + which, mask=which < count[:, None], padding_value=BEHIND)
        rank += tw.sum((other < at[:, None]).astype(tw.int32), axis=1)
    tw.store(ranks, i, rank)


def add_listed(acc, grad, lists, start, count, column, tile):
    """acc (rows, width) and the rows of grad that `count` entries of lists name, from `start` on (both (rows, 1)),
    `tile` of them at a time; without lists, the rows from `start` on."""
    for k in range(0, tw.max(count), tile):
        which = k + tw.arange(tile, dtype=tw.int32)[None, :]
        row = start + which
        if lists is not None:
            row = tw.gather(lists, row, mask=which < count)
        # Most rows of a table have no token or one: slots for later iterations would only leave room for fewer blocks.
        part = tw.gather(grad, (row[:, :, None], column), mask=(which < count)[:, :, None], latency=1)
        acc += tw.sum(part.astype(acc.dtype), axis=1)
    return acc


def columns(j, width):
    return (j * width + tw.arange(width, dtype=tw.int32))[None, None, :]


@tw.tile_kernel
def add_parts(grad, counts, used, starts, firsts, lists, owners, parts, long: tw.Constant[int], tile: tw.Constant[int],
              width: tw.Constant[int]):
    """parts[p] = the sum of the rows of grad that part p of a long list names. Grid: parts, tiles of columns."""
    p, j = tw.bid(0), tw.bid(1)
    if p >= tw.load(used, 1, ()):
        return
    v = tw.load(owners, p, ())
    before = (p - tw.load(firsts, v, ())) * long
    start, count = tw.load(starts, v, ()) + before, min(tw.load(counts, v, ()) - before, long)
    acc = tw.zeros((1, width), parts.dtype)
    acc = add_listed(acc, grad, lists, tw.full((1, 1), start, tw.int32), tw.full((1, 1), count, tw.int32),
                     columns(j, width), tile)
    tw.store(parts, (p, j), acc)


@tw.tile_kernel
def add_rows(grad, counts, starts, firsts, lists, parts, total, rows: tw.Constant[int], long: tw.Constant[int],
             tile: tw.Constant[int], width: tw.Constant[int]):
    """total[v] = the sum of the rows of grad that are listed for v, or of its parts. Grid: rows, columns."""
    i, j = tw.bid(0), tw.bid(1)
    count, start, first = (tw.load(x, i, rows, padding_mode=ZERO)[:, None] for x in (counts, starts, firsts))
    acc = tw.zeros((rows, width), parts.dtype)
    acc = add_listed(acc, grad, lists, start, tw.where(count > long, 0, count), columns(j, width), tile)
    acc = add_listed(acc, parts, None, first, parts_of(count, long), columns(j, width), tile)
    store_as(total, (i, j), acc)
