"""A catalogue entry: one kernel, its inputs, its NumPy reference, and how near a result must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.targets import TARGETS

# A bound maps (expected outputs in float64 or exact dtype) to the largest allowed difference per element.
Bound = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Case:
    """`make(rng)` gives fresh arguments; `outputs` are the positions that the kernel writes; `reference(*args)` gives
    what they must hold, computed from the arguments as they are before the run. `bound` None asks for equal bits."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    outputs: tuple[int, ...]
    reference: Callable[..., tuple[np.ndarray, ...]]
    bound: Bound | None = None
    targets: tuple[str, ...] = field(default_factory=lambda: tuple(TARGETS))
    tags: frozenset[str] = frozenset()

    def args(self, seed: int = 0) -> tuple[Any, ...]:
        return self.make(np.random.default_rng([seed, *self.name.encode()]))

    def results(self, args: tuple[Any, ...]) -> list[Any]:
        """The arrays that the kernel wrote, those of lists among them one by one."""
        written = (args[i] for i in self.outputs)
        return [a for w in written for a in (w if isinstance(w, list) else [w])]

    def check(self, got: list[np.ndarray], want: tuple[np.ndarray, ...], who: str) -> None:
        """Compare outputs with the reference; NaNs must stand in the same places."""
        for g, w in zip(got, want, strict=True):
            assert g.shape == w.shape, f"{self.name}: {who} has shape {g.shape}, expected {w.shape}"
            compare(np.asarray(g), np.asarray(w), self.bound, f"{self.name}: {who}")


def bits(a: np.ndarray) -> np.ndarray:
    """The elements as unsigned integers, every NaN as one pattern."""
    a = np.ascontiguousarray(a)
    raw = a.view(np.dtype(f"u{a.dtype.itemsize}")).copy()
    if a.dtype.kind in "fV" or a.dtype.name.startswith(("bfloat", "float")):
        with np.errstate(invalid="ignore"):  # signalling NaNs
            raw[np.isnan(a.astype(np.float64))] = np.iinfo(raw.dtype).max
    return raw


def compare(got: np.ndarray, want: np.ndarray, bound: Bound | None, who: str) -> None:
    if bound is None:
        assert got.dtype == want.dtype, f"{who}: dtype {got.dtype}, expected {want.dtype}"
        wrong = np.argwhere(bits(got) != bits(want))
        assert not len(wrong), f"{who}: {len(wrong)} elements differ, first at {wrong[0]}: " + (
            f"{got[tuple(wrong[0])]} for {want[tuple(wrong[0])]}" if len(wrong) else "")
        return
    g, w = got.astype(np.float64), want.astype(np.float64)
    assert np.array_equal(np.isnan(g), np.isnan(w)), f"{who}: NaNs in other places"
    same = (g == w) | np.isnan(w)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(bound.place(g) - bound.place(w) if isinstance(bound, Ulps) else g - w) <= bound(want)
    wrong = np.argwhere(~(same | near))
    assert not len(wrong), f"{who}: {len(wrong)} elements too far off, first at {wrong[0]}: " + (
        f"{g[tuple(wrong[0])]!r} for {w[tuple(wrong[0])]!r}" if len(wrong) else "")


@dataclass(frozen=True)
class Ulps:
    """A bound of `count` units in the last place of `dtype` at the expected value.

    Infinity is the step above the largest number: a result that is so near to it may be either.
    """

    count: float
    dtype: Any

    def __call__(self, want: np.ndarray) -> np.ndarray:
        info = self._info()
        magnitude = np.clip(np.abs(want.astype(np.float64)), float(info.smallest_normal), float(info.max))
        return np.asarray(self.count * np.ldexp(float(info.eps), np.frexp(magnitude)[1] - 1))

    def place(self, x: np.ndarray) -> np.ndarray:
        """The numbers with infinities where they stand; the power of two above float64 needs a wider format."""
        above = np.ldexp(np.longdouble(1), np.frexp(float(self._info().max))[1])
        return np.where(np.isinf(x), np.copysign(above, x), x.astype(np.longdouble))

    def _info(self) -> Any:
        import ml_dtypes

        return ml_dtypes.finfo(self.dtype)


def ulps(count: float, dtype: Any) -> Bound:
    return Ulps(count, dtype)
