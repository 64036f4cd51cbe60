"""Random numbers: Random123's vectors, cuRAND's counters, independence of the grid, and statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tilewright as ct

PI_KEY, PI_SEQUENCE, PI_COUNTER = 0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88
ALL = (1 << 64) - 1
# Random123's kat_vectors, philox4x32 10: counter, key and result as 32-bit words.
ANSWERS = [
    ((0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL, ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((PI_KEY, PI_SEQUENCE, PI_COUNTER), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@ct.tile_kernel
def four(seed: ct.ScalarInt64, numbers, out):
    sequence, counter = ct.load(numbers, 0, ()), ct.load(numbers, 1, ())
    words = ct.random.philox(seed, sequence, counter)
    for k in ct.static_iter(range(4)):
        ct.store(out, k, words[k])


@pytest.mark.parametrize("given, want", ANSWERS)
def test_known_answers(given: tuple[int, int, int], want: tuple[int, ...]) -> None:
    out = np.zeros(4, np.uint32)
    signed = [v - (1 << 64) if v >> 63 else v for v in given]
    four[(1,)](signed[0], np.array(given[1:], np.uint64), out)
    assert tuple(out.tolist()) == want


def test_constants_are_the_same_numbers() -> None:
    @ct.tile_kernel
    def kernel(out):
        words = ct.random.philox(PI_KEY, PI_SEQUENCE, PI_COUNTER)
        for k in ct.static_iter(range(4)):
            ct.store(out, k, words[k])

    out = np.zeros(4, np.uint32)
    kernel[(1,)](out)
    assert tuple(out.tolist()) == ANSWERS[2][1]


def curand(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    """What `count` calls of cuRAND's `curand` give after `curand_init(seed, sequence, offset)`, as its header
    curand_philox4x32_x.h tells: four words of a counter, one after another, then the next counter."""
    def output(counter: list[int]) -> list[int]:
        out = np.zeros(4, np.uint32)
        low, high = (counter[k] | counter[k + 1] << 32 for k in (0, 2))
        four[(1,)](seed, np.array([high, low], np.uint64), out)
        return [int(v) for v in out]

    def increment(counter: list[int], by: int) -> list[int]:
        low = (counter[0] | counter[1] << 32) + by
        high = (counter[2] | counter[3] << 32) + (low >> 64)
        return [part >> shift & 0xFFFFFFFF for part in (low, high) for shift in (0, 32)]

    counter = increment([0, 0, sequence & 0xFFFFFFFF, sequence >> 32], offset // 4)
    state, ready, found = offset % 4, output(counter), []
    for _ in range(count):
        found.append(ready[state])
        state += 1
        if state == 4:
            counter, state = increment(counter, 1), 0
            ready = output(counter)
    return found


@pytest.mark.parametrize("sequence, offset", [(0, 0), (5, 3), ((1 << 32) + 7, (1 << 34) + 2), (1, (1 << 40) - 1)])
def test_words_are_those_of_curand(sequence: int, offset: int) -> None:
    @ct.tile_kernel
    def kernel(seed: ct.ScalarInt64, sequence: ct.ScalarInt64, offset: ct.ScalarInt64, out):
        ct.store(out, 0, ct.random.bits(seed, sequence, offset + ct.arange(16, dtype=ct.int64)))

    out = np.zeros(16, np.uint32)
    kernel[(1,)](1234, sequence, offset, out)
    assert out.tolist() == curand(1234, sequence, offset, 16)


@ct.tile_kernel
def fill(out, seed, KIND: ct.Constant[int], N: ct.Constant[int]):
    i = ct.bid(0)
    element = i * N + ct.arange(N, dtype=ct.int32)
    if KIND == 0:
        ct.store(out, i, ct.random.bits(seed, element))
    elif KIND == 1:
        ct.store(out, i, ct.random.uniform(seed, element))
    elif KIND == 2:
        ct.store(out, i, ct.random.randint(seed, element, low=0, high=100))
    elif KIND == 3:
        ct.store(out, i, ct.random.normal(seed, element))
    elif KIND == 4:
        ct.store(out, i, ct.random.uniform(seed, element, dtype=ct.float64))
    else:
        ct.store(out, i, ct.random.normal(seed, 1, element, dtype=ct.float64))


KINDS = ("bits", "uniform", "randint", "normal", "uniform64", "normal64")


def drawn(kind: str, n: int, dtype: Any, seed: int = 11, tile: int = 1024) -> Any:
    out = np.zeros(n, dtype)
    fill[(-(-n // tile),)](out, seed, KINDS.index(kind), tile)
    return out


@pytest.mark.parametrize("kind, dtype", [("bits", np.uint32), ("uniform", np.float32), ("normal", np.float32),
                                         ("uniform64", np.float64), ("normal64", np.float64)])
def test_the_launch_geometry_changes_nothing(kind: str, dtype: Any) -> None:
    assert np.array_equal(drawn(kind, 3000, dtype, tile=64), drawn(kind, 3000, dtype, tile=1024))


@ct.tile_kernel
def in_a_row(out, seed, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, i, ct.random.bits(seed, 0, i * tile + ct.arange(tile, dtype=ct.int32)))


def test_four_words_in_a_row_are_made_at_once() -> None:
    """Each thread stores eight words, in two places: two counters of 20 multiplications that make both halves of the
    product. 512 words further on, LLVM did not see that four offsets have one counter, and made five."""
    spec = (ct.spec("u32[?]"), 7, 1024)
    assert in_a_row.ptx(*spec, target="sm_90a").count(".maxntid 128") == 1
    sass = in_a_row.sass(*spec, target="sm_90a")
    assert 20 < sass.count("IMAD.WIDE.U32") <= 40 and "IMAD.HI" not in sass


def chi_square(counts: Any, expected: float) -> float:
    """How many standard deviations the statistic is from its mean, by Wilson and Hilferty."""
    k = len(counts) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return ((statistic / k) ** (1 / 3) - (1 - 2 / (9 * k))) / math.sqrt(2 / (9 * k))


N = 1 << 17


def test_chi_square() -> None:
    bits = drawn("bits", N, np.uint32)
    for shift in (0, 8, 16, 24):
        counts = np.bincount((bits >> np.uint32(shift)) & np.uint32(255), minlength=256)
        assert abs(chi_square(counts, N / 256)) < 4, shift
    assert abs(chi_square(np.bincount(drawn("randint", N, np.int32), minlength=100), N / 100)) < 4
    for uniform in (drawn("uniform", N, np.float32), drawn("uniform64", N, np.float64)):
        assert uniform.min() >= 0 and uniform.max() < 1
        pairs = (uniform[::2] * 16).astype(int) * 16 + (uniform[1::2] * 16).astype(int)
        assert abs(chi_square(np.bincount(pairs, minlength=256), N / 512)) < 4
    low = drawn("uniform64", N, np.float64) * 2.0**45 % 256  # bits 38 to 45
    assert abs(chi_square(np.bincount(low.astype(int), minlength=256), N / 256)) < 4
    edges = np.array([-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0])
    share = np.diff([0, *(0.5 * math.erfc(-e / math.sqrt(2)) for e in edges), 1])
    for normal in (drawn("normal", N, np.float32), drawn("normal64", N, np.float64)):
        counts = np.bincount(np.searchsorted(edges, normal), minlength=10)
        statistic = float(((counts - N * share) ** 2 / (N * share)).sum())
        assert statistic < 31  # 9 degrees of freedom: 1 in 3000


def test_correlations() -> None:
    """Of neighbours, of seeds, and of places in a sequence: at most 4 / sqrt(n)."""
    a, b = drawn("uniform", N, np.float32), drawn("uniform", N, np.float32, seed=12)
    wide = drawn("uniform64", N, np.float64)
    normals = [drawn("normal", N, np.float32), drawn("normal64", N, np.float64)]
    limit = 4 / math.sqrt(N)
    for x, y in ((a[1:], a[:-1]), (a[64:], a[:-64]), (a, b), (wide[1:], wide[:-1]), (a, wide),
                 *((n[1:], n[:-1]) for n in normals), (normals[1][::2], normals[1][1::2])):
        assert abs(np.corrcoef(x, y)[0, 1]) < limit
    for normal in normals:
        assert abs(normal.mean()) < limit and abs(normal.std() - 1) < limit


def test_a_wrong_generator_is_seen() -> None:
    """The test is worth something: a counter in place of random bits does not pass."""
    counts = np.bincount(np.arange(N, dtype=np.uint32) >> np.uint32(10) & np.uint32(255), minlength=256)
    assert abs(chi_square(counts, N / 256)) > 4
