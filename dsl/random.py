"""Random numbers inside kernels: `ct.random.uniform(seed, sequence)` and its kind, by Philox4x32-10.

Nothing has a state: a number is a function of the seed, of the sequence that it belongs to and of its place in that, so
that it depends neither on the grid nor on the shape of tiles. Give each element a sequence of its own, its index in the
whole array, say.
"""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.dtypes import DType, float32

__all__ = ["philox", "bits", "randint", "uniform", "normal"]


@builtin("random.philox")
def philox(seed: Any, sequence: Any, counter: Any = 0, /) -> tuple[Tile, Tile, Tile, Tile]:
    """The four words that Philox4x32-10 makes of a counter: words 4 * counter to 4 * counter + 3 of a sequence.

    Arguments: `seed`, `sequence` and `counter`, integers or tiles of them that broadcast, used modulo 2**64. The seed
        is the key, `sequence` the upper and `counter` the lower half of the counter, as in cuRAND's
        `curand_init(seed, sequence, 4 * counter)`.
    Result: a tuple of four uint32 tiles of the common shape, bit for bit the same everywhere.
    Errors: TileTypeError for what is no integer, and for shapes that do not broadcast.

    Example:
        a, b, c, d = ct.random.philox(0, 0)
        print(f"{a:08x} {b:08x} {c:08x} {d:08x}")      # 6627e8d5 e169c58d bc57ac4c 9b00dbd8
        ct.random.philox(0.5, 0)                       # TileTypeError
    """


@builtin("random.bits")
def bits(seed: Any, sequence: Any, offset: Any = 0, /) -> Tile:
    """32 random bits.

    Arguments: `seed` and `sequence` as in `random.philox`; `offset`, the place in the sequence. Four offsets that begin
        at a multiple of 4 cost as much as one.
    Result: a uint32 tile of the common shape, bit for bit the same everywhere.
    Errors: TileTypeError for what is no integer, and for shapes that do not broadcast.

    Example:
        element = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
        print(ct.random.bits(7, element))               # [4099963437, 2126179728, 4045657945, 2545112793]
        print(ct.random.bits(7, 0, element))            # [4099963437, 3221879260, 490388034, 367897730]
    """


@builtin("random.randint")
def randint(seed: Any, sequence: Any, offset: Any = 0, /, *, low: Any = 0, high: Any) -> Tile:
    """A random integer from `low` up to, but not including, `high`.

    Arguments: `seed`, `sequence` and `offset` as in `random.bits`.
    Options: `low` and `high`, int32 or uint32 numbers or tiles with `low` < `high` <= `low` + 2**32.
    Result: an int32 tile, bit for bit the same everywhere: low + (bits * (high - low) >> 32). No number is more likely
        than another by more than (high - low) / 2**32.
    Errors: TileTypeError for what is no integer, and for shapes that do not broadcast.

    Example:
        dice = ct.random.randint(7, ct.arange(8, dtype=ct.int32), low=1, high=7)
        print(dice)                                    # [6, 3, 6, 4, 5, 2, 5, 3]
    """


@builtin("random.uniform")
def uniform(seed: Any, sequence: Any, offset: Any = 0, /, low: Any = 0.0, high: Any = 1.0, *,
            dtype: DType = float32) -> Tile:
    """A random float from `low` up to, but not including, `high`.

    Arguments: `seed`, `sequence` and `offset` as in `random.bits`; `low` and `high`, numbers or tiles.
    Result: a float32 tile, bit for bit the same everywhere: a multiple of 2**-24, then scaled if there are bounds
        (rounding may make that `high`).
    Options: `dtype=ct.float64` gives float64, multiples of 2**-53; `offset` counts pairs of words then.
    Errors: TileTypeError for what is no integer, for shapes that do not broadcast, and for another dtype.

    Example:
        element = ct.arange(4, dtype=ct.int32)
        print(ct.random.uniform(7, element))           # [0.954597, 0.495040, 0.941953, 0.592580]
        keep = ct.random.uniform(7, element) >= 0.25   # dropout
        print(keep)                                    # [1, 1, 1, 1]
        print(f"{ct.random.uniform(7, 0, element, dtype=ct.float64):.3f}")   # [0.750, 0.086, 0.795, 0.958]
    """


@builtin("random.normal")
def normal(seed: Any, sequence: Any, offset: Any = 0, /, *, dtype: DType = float32) -> Tile:
    """A random float of the standard normal distribution, by the method of Box and Muller.

    Arguments: `seed`, `sequence` and `offset` as in `random.bits`. An even offset and the next one are the cosine and
        the sine of one pair of words.
    Result: a float32 tile, at most 6.7 in magnitude. Its last bits are those of `log`, `cos` and `sin`: executors agree
        to within 4e-6.
    Options: `dtype=ct.float64` gives float64, at most 8.6 in magnitude, within 1e-14; `offset` counts pairs of words.
    Errors: TileTypeError for what is no integer, for shapes that do not broadcast, and for another dtype.

    Example:
        element = ct.arange(4, dtype=ct.int32)
        print(f"{ct.random.normal(7, element):.3f}")   # [0.000, 0.560, 0.205, 0.729]
        noise = 2.0 + 0.5 * ct.random.normal(7, element, 1)   # mean 2, deviation 0.5
        print(f"{noise:.3f}")                          # [1.848, 2.523, 1.861, 2.359]
    """
