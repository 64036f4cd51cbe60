"""Tiles of the library's launches: measured ones from `tiles.toml` by device and shape, else what the rules below give.

A rule knows what a block has: registers for `WORDS_PER_BLOCK` words beside what the kernel itself needs.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from tilewright.arguments.arrays import describe
from tilewright.kernels.arrays import Array, is_tensor, on_host
from tilewright.kernels.launching import blocks, power_above
from tilewright.tileir.dtypes import DType

# A row of up to 65536 words fits the registers of a block: up to two CTAs of a cluster with 32768 each, and a block of
# short rows should have about 2048 words, 16 for each of 128 threads (H200: softmax of 1024 columns, 3.9 TB/s).
LONGEST_ROW, WORDS_PER_BLOCK = 65536, 2048
FILE = Path(__file__).with_name("tiles.toml")


@functools.cache
def table() -> dict[str, Any]:
    """What `tiles.toml` holds: by function, by target, entries with the largest extents they serve, and tiles."""
    return tomllib.loads(FILE.read_text())


def target_of(x: Array) -> str:
    """The name of the target that runs kernels on this array, "host" for the interpreter."""
    if on_host(x):
        return "host"
    from tilewright.backend_ptx.runtime.driver import get_device

    return str(get_device(ordinal_of(x)).target.name)


def ordinal_of(x: Array) -> int:
    """The CUDA ordinal of the device of `x`."""
    info = None if is_tensor(x) else describe(x)
    return int((x.device.index or 0) if info is None else info.device)


def measured(function: str, x: Array, **extents: int) -> dict[str, Any] | None:
    """The first entry of the table for the device of `x` whose largest extents are not less than these; None where the
    table has none."""
    by_target = table().get(function)
    for entry in by_target.get(target_of(x), []) if by_target else []:
        if all(int(extents[name]) <= most for name, most in entry["at_most"].items()):
            found: dict[str, Any] = entry["tiles"]
            return found
    return None


def rows_and_width(x: Array, n: int, inputs: int = 1) -> tuple[int, int] | None:
    """How many whole rows of n elements a block holds, and their padded width; None for rows that are too long. Of so
    many inputs whose rows together are as many words as a block should have, it holds one (H200, gradients of softmax
    of 32768 x 1024 bfloat16 numbers: 45.9 us, of two rows 46.9)."""
    width = power_above(n)
    if width > LONGEST_ROW:
        return None
    return 1 if inputs * width >= WORDS_PER_BLOCK else WORDS_PER_BLOCK // width, width


def strip(length: int, inner: int, words: int = WORDS_PER_BLOCK, widest: int = 64) -> tuple[int, int]:
    """A tile (along, across) of a view whose last axis is `inner` long: at least a sector of memory across where there
    is that much, `widest` at most, the rest along. All are powers of two."""
    across = min(inner, widest)
    return max(1, min(length, words // across)), across


def at_once(x: Array, tile: tuple[int, ...]) -> int:
    """How many blocks with such a tile of a matrix multiply the device of `x` runs at once."""
    return sms_of(x) // (2 if tile[:2] in PAIRS else 1)


def sms_of(x: Array) -> int:
    """The number of SMs of the device of `x`."""
    from tilewright.backend_ptx.runtime.driver import device_attribute

    return device_attribute(ordinal_of(x), "MULTIPROCESSOR_COUNT")


# Tiles of matrix multiplies, the largest first, and how long a wave of blocks takes for one of each beside others:
# large ones read less of L2 for each product. On an H100, in microseconds: 1024^3 in one wave of 128 x 256, 128 x 128
# and 64 x 128 14.4, 9.3 and 7.3, in two of 64 x 64 9.6; 1000 x 1032 x 520 in one of 128 x 128 9.0, in two of 64 x 128
# 11.1; 4000 x 4104 x 4200 in five of 128 x 256 327, in eight of 128 x 128 385. Of those that would take as long the
# first is taken, of those below 64 x 64 the first that fits.
WIDE_TILES = {(128, 256): 4.0, (128, 128): 2.6, (64, 128): 1.7, (64, 64): 1.3}
# The same where nothing is computed after the product and rows are whole lines, so that CTAs loop over blocks: smaller
# tiles wait for no first tiles then, and two teams of warps hide the stores of all but the largest, which take as long
# as so much of k. 6144 x 3072 x 5120 in five waves of 128 x 256 272 us, in nine of 128 x 128 252 (H200); 4096^3 in four
# and eight 184 and 188, 1024^3 in one of 128 x 256, 128 x 128 and 64 x 128 13.8, 8.6 and 6.6 (H100, with 3 to launch).
LOOPED_TILES = {(128, 256): 1.0, (128, 128): 0.52, (64, 128): 0.34, (64, 64): 0.22}
STORED, WHOLE_LINES = 100, 16
# Where rows begin within lines of 128 bytes, TMA asks for two of them, and tiles of 128 x 128, which it bounds, take so
# long: 4096 x 4096 x 4000 0.84 of cuBLAS, by 128 x 256 0.99; 3000 x 5008 x 768 0.86 and 0.94 (H100).
WITHIN_LINES = 0.6
# Where rows of a lie along m (gradients of weights), and neither operand stays in L2, of which an H100 keeps so many
# bytes beside what passes through: 128 x 128 takes 1.11 and 1.04 of the time of 128 x 256, whose waves take as long, of
# 32000 x 2048 x 8192 and 32000 x 4096 x 4096, 0.97 and 0.98 for 11008 x 4096 x 16384 and 14336 x 6144 x 4096, behind
# a copy of other arrays 1.09 to 1.17 of all; with a the other way 0.95 to 1.14, behind a copy 0.97 to 1.23 (H100).
FROM_MEMORY, KEPT = 0.53, 24 << 20
# Where CTAs do not loop over blocks, pairs of them share what both read, and half as many tiles run at once: 4000 x
# 4104 x 4200 by 128 x 256, 512 x 128 and 256 x 256 289, 245 and 242 us, 3000 x 5008 x 776 51.9, 53.4 and 48.8 (H100).
# Of matrices alone, each pair walks over tiles; where rows begin within lines, tiles of 256 x 256 then take WALKED of
# those of 128 x 256: 6144 x 3104 x 5024 264 us in place of 287, 8192 x 2080 x 2080 118 in place of 135, 3000 x 5008 x
# 768 42.5 in place of 46.3, 4096 x 4096 x 4000 173 in place of 175 (H100).
PAIRS = {(256, 256): 3.4, (512, 128): 4.4}
WALKED = 0.93
# Of tfloat32, whose operands may lie along m or n, which smaller tiles turn more often: 2048^3 with b as [N, K] by
# 256 x 128, 128 x 128 and 64 x 128 49.1, 49.6 and 62.8 us, as [K, N] 49.2, 57.3 and 91.7; 4096^3 350, 377 and 468, 361,
# 430 and 771; by 64 x 64 870 and 971 (H100).
TF32_TILES = {(256, 128): 1.0, (128, 128): 0.56, (64, 128): 0.4, (64, 64): 0.32}
# Of few rows or columns, whose time is that of reading the other operand: blocks of all of them, as long as leaves
# FILLED blocks, and so deep that these load STEP bytes of it at a time, in slots of at most SLOT bytes and at least
# TURNS times. Of cuBLAS on an H100: 16 x 4096 x 4096 by 16 x 64 x 64, 16 x 32 x 128 and 16 x 32 x 256 0.87, 1.12 and
# 1.22 (b as [N, K] 0.82, 1.09 and 1.18), by four parts of k that the last block adds 1.07; 64 x 4096 x 4096 by
# 64 x 64 x 64 and 64 x 32 x 128 0.91 and 1.04 (0.86 and 1.03).
FEW, FILLED, STEP, SLOT, TURNS = 64, 100, 2 << 20, 32 << 10, 4
NARROW = 64, 32, 16
SMS = 132
# Where n is a little more than a multiple of 256, the last tiles of a row compute at most MOST_REST columns more, in
# WITH_REST of the time. In microseconds on an H200, without, with and cuBLAS: bfloat16 2000 x 2056 x 1032 27.6, 19.6
# and 17.7, 8200 x 1032 x 1032 41.4, 35.7 and 32.6, 8 of 1000 x 1032 x 520 29.7, 24.6 and 26.8, 64 of 520 x 520 x 520 by
# 128 x 256 83.7, 60.5 and 48.4. Pairs that walk over tiles of a matrix hide the stores of short k, so it must be
# longer: 4096 x 4104 x 512 38.8 and 41.4. By narrow tiles for these columns, in a branch of the same kernel, the first
# two 21.7 and 36.4.
MOST_REST, WITH_REST, LONGER = 32, 1.12, 1024
# Where rows begin within sectors and k is long: pairs with tiles of 256 x 128 and MOST_REST columns more, if they take
# at most BETTER of the time. A wave takes as long as each CTA reads, its own rows and half of the columns. 3000 x 776 x
# 3000 by 256 x 256 and 256 x (128 + 32) 34.4 and 26.6 us (H200, cuBLAS 23.6); but with 8 columns more 4000 x 520 x 1000
# 16.2 and 18.8, with 16 more 1500 x 1544 x 1000 15.4 and 19.7.
BETTER = 0.9
# Of few tiles and much k: blocks take parts of k, and a second launch adds up their sums. What a wave takes for each of
# k by tiles and their depth, of tensor cores in the unit of LOOPED_TILES, 9.3 ns, and of float32 by threads (H100,
# H200); PARTS is what the second launch takes, SUM each float32 number of the sums. In microseconds on an H200, cuBLAS,
# without and with parts: bfloat16 64 x 64 x 16384 7.5, 31.6, 6.2; 512 x 512 x 16384 19.2, 42.4, 18.7; 256 x 256 x 4096
# 8.0, 12.5, 7.1; 1024 x 512 x 8192 17.8, 23.3, 18.4; 512 x 768 x 8192 17.1, 22.3, 16.2 in five parts, 17.2 in four;
# float32 16 x 4096 x 4096 50.6, 58.4, 29.4; 256 x 1024 x 1024 21.4, 36.7, 20.2; 64 x 4096 x 4096 65.6, 92.8, 67.9.
# Tiles that are not here, of few rows, take NARROWER. Parts must take at most SAVED of the time without.
PARTS_OF_TENSOR_CORES = {(64, 64): (0.265, 64), (64, 128): (0.355, 64), (128, 128): (0.56, 64)}
PARTS_OF_THREADS = {(16, 32): (1.41, 32), (16, 64): (1.54, 64), (16, 128): (2.45, 32), (64, 32): (2.37, 32),
                    (64, 64): (3.6, 32), (64, 128): (6.5, 16), (64, 256): (11.9, 16)}
# Where rows begin within lines: 1000 x 520 x 4104 without parts 27.2 us, by 128 x 128 in three 19.8, in four by 128 x
# (128 + 8), which take BESIDE of the time, 17.4 (cuBLAS 15.7, H200). UNPARTED are tiles that no parts have.
PARTS_WITHIN_LINES = {(64, 64): (0.4, 64), (64, 128): (0.62, 64), (128, 128): (1.0, 64)}
UNPARTED, BESIDE = {(256, 256): 1.13, (512, 128): 1.47, (128, 256): 1.8}, 1.03
NARROWER = {2: 0.154, 4: 1.2}
PARTS, SUM, SAVED, MOST_PARTS, FEWEST_STEPS = 226, 1.36e-4, 0.8, 128, 2


def matmul_tiles(out: Array, dtype: DType, m: int, n: int, k: int, batches: int = 1, most: int = 1 << 15,
                 alone: bool = False, tf32: bool = False, along_m: bool = False) -> tuple[int, int, int]:
    """The tile (m, n, k) of a matrix multiply of operands of `dtype`, of at most so many elements; `alone`: the product
    is stored as it is; `tf32`: tensor cores multiply float32; `along_m`: rows of the first operand lie along m."""
    found = measured("matmul", out, m=m, n=n, k=k)
    if found is not None:
        return found["m"], found["n"], found["k"]
    return _tile_of_matmul(dtype.bytes, m, n, k, batches, most, alone, tf32, along_m)


@functools.lru_cache(maxsize=4096)
def _tile_of_matmul(
    size: int, m: int, n: int, k: int, batches: int, most: int, alone: bool, tf32: bool, along_m: bool = False,
) -> tuple[int, int, int]:
    """The rule, for elements of so many bytes."""
    # 128 bytes of each row of an operand are one box of TMA; float32 and float64 without tensor cores take less.
    depth = {1: 128, 2: 64, 4: 32}.get(size, 16)
    by_tensor_cores = size <= 2 or tf32
    most = most if by_tensor_cores else min(most, 64 * 64)
    tall, wide = max(16, power_above(m)), max(16, power_above(n))

    def count(tile: tuple[int, int]) -> int:
        return batches * blocks(m, tile[0]) * blocks(n, tile[1])

    def time(tile: tuple[int, int]) -> float:
        return blocks(count(tile), SMS // 2 if tile in PAIRS else SMS) * waves[tile]

    from_memory = along_m and min(m, n) * k * size > KEPT
    waves = _times_of_waves(size, n, k, batches, alone, tf32, from_memory)
    fitting = [tile for tile in waves if tile[0] * tile[1] <= (2 if tile in PAIRS else 1) * most
               and tile[0] <= tall and tile[1] <= wide]
    found = min(fitting, key=time, default=None)
    if found is None or (min(tall, wide) <= FEW and count(found) < FILLED):
        few = min(tall, wide, FEW)
        longs = [length for length in NARROW if length <= max(tall, wide)]
        tiles = [(few, length) if tall <= wide else (length, few) for length in longs]
        found = next((tile for tile in tiles if count(tile) >= FILLED), tiles[-1])
        if by_tensor_cores:
            depth = _depth_of_few(size * sum(found), size * count(found) * (sum(found) - few), depth, k)
    return *found, max(16, min(depth, power_above(k)))


def _depth_of_few(slot: int, step: int, depth: int, k: int) -> int:
    """For slots and steps of so many bytes for each of k."""
    while 2 * depth * slot <= SLOT and depth * step < STEP and 2 * depth * TURNS <= k:
        depth *= 2
    return depth


def _times_of_waves(
    size: int, n: int, k: int, batches: int, alone: bool, tf32: bool, from_memory: bool,
) -> dict[tuple[int, int], float]:
    """Tiles, the first of which is taken of those that take as long, and how long a wave of each takes."""
    if tf32:
        return {tile: time * k for tile, time in TF32_TILES.items()}
    if n % WHOLE_LINES or k % WHOLE_LINES:
        return PAIRS | WIDE_TILES
    if not alone:
        return WIDE_TILES
    times = dict(LOOPED_TILES)
    if n * size % 128 or k * size % 128:
        times |= {(128, 128): WITHIN_LINES} | ({(256, 256): WALKED} if batches == 1 else {})
    elif from_memory:
        times[128, 128] = FROM_MEMORY
    return {tile: time * k + (STORED if tile[1] == 256 else 0) for tile, time in times.items()}


@functools.lru_cache(maxsize=4096)
def with_rest(
    size: int, m: int, n: int, k: int, batches: int, found: tuple[int, int, int],
) -> tuple[tuple[int, int, int], int]:
    """The tile of a product alone, of elements of so many bytes, whose last tiles in a row compute more columns, and
    how many more; the tile that was found without, and 0, where none pays."""
    waves = _times_of_waves(size, n, k, batches, True, False, False)
    wide = [tile for tile in waves if tile[1] == 256 and tile[0] <= power_above(m)]
    if size != 2 or found[:2] not in waves or n % 8 or k % 8 or not (n > 256 and 0 < n % 256 <= MOST_REST) or (
            batches == 1 and k < LONGER):
        return found, 0

    def time(tile: tuple[int, ...], columns: int) -> float:
        tiles = batches * blocks(m, tile[0]) * columns
        return blocks(tiles, SMS // 2 if tile[:2] in PAIRS else SMS) * waves[tile[:2]]  # type: ignore[index]

    best = min(wide, key=lambda tile: time(tile, n // 256), default=None)
    if best is None or time(best, n // 256) * WITH_REST >= time(found, blocks(n, found[1])):
        return found, 0
    return (*best, found[2]), max(8, power_above(n % 256))


@functools.lru_cache(maxsize=4096)
def columns_beside(size: int, m: int, n: int, k: int, found: tuple[int, int, int]) -> int:
    """How many columns more pairs with tiles of 256 x 128 take of a matrix alone, whose elements have so many bytes; 0
    where the tile that was found, or one with a rest, takes about as long."""
    waves, whole = PAIRS | WIDE_TILES, with_rest(size, m, n, k, 1, found)
    within_sectors = bool(n % WHOLE_LINES or k % WHOLE_LINES)
    if size != 2 or m % 8 or n % 8 or k % 8 or k < 2 * LONGER or not within_sectors or found[:2] not in waves:
        return 0

    def time(rows: int, columns: int, wave: float, at_a_time: int) -> float:
        return blocks(blocks(m, rows) * columns, at_a_time) * wave

    tile, rest = whole
    columns = n // tile[1] if rest else blocks(n, tile[1])
    least = time(tile[0], columns, waves[tile[:2]] * (WITH_REST if rest else 1), SMS // 2 if tile[:2] in PAIRS else SMS)
    pairs = time(256, blocks(n, 128 + MOST_REST), PAIRS[256, 256] * (192 + MOST_REST / 2) / 256, SMS // 2)
    return MOST_REST if pairs < BETTER * least else 0


@functools.lru_cache(maxsize=4096)
def in_parts(size: int, m: int, n: int, k: int, found: tuple[int, int, int]) -> tuple[tuple[int, int, int], int, int]:
    """The tile of a product alone, of elements of so many bytes, whose blocks take parts of k, how many columns more it
    has, and how many parts; the tile that was found without, 0 and 1, where none pay."""
    rates = {2: PARTS_OF_TENSOR_CORES, 4: PARTS_OF_THREADS}.get(size, {})
    if size == 2 and (n % 64 or k % 64):
        rates = PARTS_WITHIN_LINES
    if not rates or not 0 < blocks(m, found[0]) * blocks(n, found[1]) <= SMS:
        return found, 0, 1
    alone = rates[found[:2]][0] if found[:2] in rates else UNPARTED.get(found[:2], NARROWER[size])
    best, chosen = alone * k * SAVED, (found, 0, 1)
    for tile, (rate, depth) in rates.items():
        more = _columns_over(n, tile[1]) if size == 2 and not (n % 8 or k % 8) else 0
        tiles = blocks(m, tile[0]) * blocks(n, tile[1] + more)
        most = min(MOST_PARTS, SMS // tiles, k // (FEWEST_STEPS * depth))
        powers = (1 << bit for bit in range(1, max(most, 1).bit_length()))
        for parts in dict.fromkeys((*powers, *([most] if most > 1 else []))):
            time = rate * (BESIDE if more else 1) * k / parts + PARTS + parts * m * n * SUM
            if time < best:
                best, chosen = time, ((*tile, depth), more, parts)
    return chosen


def _columns_over(n: int, width: int) -> int:
    """How many columns more tiles of 128 columns take so that no last one has at most MOST_REST."""
    columns, over = divmod(n, width)
    return max(8, power_above(blocks(over, columns))) if width == 128 and columns and 0 < over <= MOST_REST else 0
