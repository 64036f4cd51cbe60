"""Launches that would contradict a certificate: other orders of blocks, other grids, other rows, bit by bit."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.interp.certifying import Certificate, Output

Args = list[Any]


class Launches:
    """One kernel with one set of arguments, launched again and again. `numerics`: the target whose tensor cores
    multiply matrices: what BLAS gives depends on the whole product."""

    def __init__(self, kernel: Any, grid: tuple[int, ...], args: Sequence[Any], numerics: str | None = None) -> None:
        self.kernel = kernel
        self.grid = tuple([*grid, 1, 1][:3])
        self.args = list(args)
        self.names = list(kernel.__wrapped__.__code__.co_varnames[: len(self.args)])
        self.numerics = {} if numerics is None else {"numerics": numerics}
        self.whole = self.run(self.grid, self.args)

    def run(self, grid: tuple[int, ...], args: Args, **how: Any) -> dict[str, Any]:
        """What the arguments hold after a launch on copies of them, by name."""
        copies = copy.deepcopy(args)
        self.kernel.interpret(grid, *copies, **how, **self.numerics)
        return dict(zip(self.names, copies, strict=True))

    def contradictions(self, certificate: Certificate) -> list[str]:
        """What launches show that the certificate denies."""
        wrong: list[str] = []
        for out in certificate.outputs.values():
            wrong += [f"{out.name}: {what}" for what in self._of_output(certificate, out)]
        return wrong

    def _of_output(self, certificate: Certificate, out: Output) -> Iterator[str]:
        if out.block_order.holds:
            for order in ("desc", 1, 2):
                if not same(self.run(self.grid, self.args, order=order)[out.name], self.whole[out.name]):
                    yield f"blocks in the order {order}"
        if out.grid.holds:
            yield from self._grids(out)
        if out.batch.holds and not isinstance(self.whole[out.name], list):
            for axis in out.batch.axes:
                yield from self._rows(out, axis)

    def _grids(self, out: Output) -> Iterator[str]:
        """Every element that another grid changes has the value that the whole grid gives it."""
        before = dict(zip(self.names, self.args, strict=True))[out.name]
        fewer = {(axis, n) for axis, most in enumerate(self.grid) for n in (1, most - 1) if 0 < n < most}
        for axis, blocks in sorted(fewer):
            grid = tuple(blocks if k == axis else n for k, n in enumerate(self.grid))
            now = self.run(grid, self.args)[out.name]
            for one, start, whole in zip(*map(flat, (now, before, self.whole[out.name])), strict=True):
                if ((bits(one) != bits(start)) & (bits(one) != bits(whole))).any():
                    yield f"grid {grid}"

    def _rows(self, out: Output, axis: int) -> Iterator[str]:
        """The same rows at other places, and fewer of them."""
        arrays = {**out.batch.rows[axis], out.name: axis}
        given = dict(zip(self.names, self.args, strict=True))
        if any(isinstance(given[name], list) for name in arrays):
            return
        count = given[out.name].shape[axis]
        if any(given[name].shape[own] != count for name, own in arrays.items()) or count < 2:
            return
        for what, chosen in (("turned", np.roll(np.arange(count), 1)), ("backwards", np.arange(count)[::-1]),
                             ("the first half", np.arange(count)[: (count + 1) // 2])):
            args = [np.ascontiguousarray(np.take(a, chosen, axis=arrays[name])) if name in arrays else a
                    for name, a in given.items()]
            now, whole = self.run(self.grid, args)[out.name], self.whole[out.name]
            before = np.take(written(self, self.args, out, whole), chosen, axis=axis)
            different = bits(now) != bits(np.take(whole, chosen, axis=axis))
            if (written(self, args, out, now) & before & different).any():
                yield f"rows along axis {axis}, {what}"


def written(launches: Launches, args: Args, out: Output, now: np.ndarray) -> Any:
    """The elements of an array, which the kernel does not read, that a launch writes."""
    if any(out.name in arrays for arrays in out.batch.rows.values()):
        return np.ones(now.shape, bool)
    at = launches.names.index(out.name)
    other = (~bits(args[at])).view(args[at].dtype).reshape(args[at].shape)
    return bits(launches.run(launches.grid, [*args[:at], other, *args[at + 1:]])[out.name]) == bits(now)


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, list) else [value]


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(bits(x), bits(y)) for x, y in zip(flat(a), flat(b), strict=True))


def bits(a: np.ndarray) -> np.ndarray:
    a = np.ascontiguousarray(a)
    return a.view(np.dtype(f"u{a.dtype.itemsize}")) if a.ndim else a.reshape(1).view(np.dtype(f"u{a.dtype.itemsize}"))
