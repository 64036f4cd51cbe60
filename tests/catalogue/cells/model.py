"""A batch: one kernel that shows many cells of the language table, one output array for each.

Every batch's kernel has two arguments, a tuple of inputs and a tuple of outputs. A cell is a claim of the language
table: this name, with this dtype, at this rank, at this boundary, was executed and compared with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from catalogue.case import Bound, compare

Array = np.ndarray[Any, Any]


class Cell(NamedTuple):
    """`dtype` may name two, "int8 to float16"; `rank` is that of the result's tile; `boundary` says what is special."""

    name: str
    dtype: str
    rank: int
    boundary: str

    def __str__(self) -> str:
        return f"{self.name}, {self.dtype}, rank {self.rank}, {self.boundary}"


@dataclass(frozen=True)
class Part:
    """One output of a batch: the names that it shows and how near it must be.

    `bound` None is equal bits. All NaNs of a dtype are equal, as the bits of a NaN that an operation makes are not
    specified; where an output holds such bits as integers, they are in `Filled.ignore` or the inputs have no NaNs.
    """

    names: tuple[str, ...]
    dtype: str
    rank: int
    boundary: str
    bound: Bound | None = None

    @property
    def cells(self) -> list[Cell]:
        return [Cell(name, self.dtype, self.rank, self.boundary) for name in self.names]

    def __str__(self) -> str:
        return f"{'/'.join(self.names)}, {self.dtype}, rank {self.rank}, {self.boundary}"


class Filled(NamedTuple):
    """Arguments for one run and what the outputs must hold after it. `ignore[k]` marks elements without a meaning."""

    ins: tuple[Any, ...]
    outs: tuple[Array, ...]
    wants: tuple[Array, ...]
    ignore: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Batch:
    """`fill(rng)` makes fresh arguments; output k of the kernel is what part k is about.

    `unordered`: blocks or elements are combined in no fixed order, so that results agree within the bound only.
    `simulate` False: the simulator is not asked, with the reason in a comment where it is set.
    """

    name: str
    kernel: Any
    fill: Callable[[np.random.Generator], Filled]
    parts: tuple[Part, ...]
    grid: tuple[int, ...] = (2,)
    unordered: bool = False
    simulate: bool = True

    def filled(self, seed: int = 0) -> Filled:
        return self.fill(np.random.default_rng([seed, *self.name.encode()]))

    def check(self, got: Iterable[Array], want: Iterable[Array], ignore: tuple[Any, ...], who: str) -> None:
        """Compare all outputs; the error names every cell that failed."""
        got, want = list(got), list(want)
        assert len(got) == len(want) == len(self.parts), f"{self.name}: {len(self.parts)} parts, {len(got)} outputs"
        failed = []
        for k, part in enumerate(self.parts):
            g, w = np.asarray(got[k]), np.asarray(want[k])
            if ignore and ignore[k] is not None:
                g = np.where(ignore[k], w, g).astype(g.dtype)
            try:
                assert g.shape == w.shape, f"shape {g.shape}, expected {w.shape}"
                compare(g, w, part.bound, who)
            except AssertionError as error:
                failed.append(f"  {part}: {error}")
        assert not failed, f"{self.name}: {len(failed)} of {len(self.parts)} parts\n" + "\n".join(failed)
