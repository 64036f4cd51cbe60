"""`vmap`: the kernel that runs a kernel for each element of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.combining.batched import BatchedSource
from tilewright.kernel import kernel_of, tile_kernel
from tilewright.launching.bound import BoundKernel
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tracebacks import public

Axes = Mapping[str, int | None] | Sequence[int | None]


class batched_kernel(tile_kernel):
    """What `vmap` gives: a kernel like any other, whose grid has the batch as its first axis."""

    _linear: dict[tuple[int, KernelOptions], tile_kernel]

    def __getitem__(self, grid: Any) -> BoundKernel:
        """The kernel bound to a grid, of which the first entry counts batches; one of four entries is linearised."""
        if not isinstance(grid, tuple) or len(grid) != 4:
            return super().__getitem__(grid)
        batches, x, y, z = grid
        return self.linear(batches)[(batches * x, y, z)]

    def linear(self, batches: int) -> tile_kernel:
        """The kernel for grids of three axes and so many batches: block (x, y, z) of batch b stands at
        (x * batches + b, y, z)."""
        key = max(batches, 1), self.hints
        if key not in self._linear:
            source = self.specialiser.source
            assert isinstance(source, BatchedSource)
            self._linear[key] = kernel_of(source.linear(key[0]), self.hints, self.specialiser.rules, tile_kernel)
        return self._linear[key]


@public
def vmap(
    kernel: tile_kernel, /, axis: int = 0, *, in_axes: Axes | None = None, scalars: str | tuple[str, ...] = ()
) -> batched_kernel:
    """The kernel that does for each element of a batch what a kernel does: one launch in the place of a loop of them.

    Arguments: `kernel`; `axis`, the axis of its arrays along which the batch lies, counted from 0.
    Result: a kernel. Its grid has one entry more, in front: how many batches there are. All arrays have the axis, those
        of tuples and lists too; scalars and constants are those of the kernel. Hints and `deterministic` are kept, a
        `grid` of the decorator is not.
    Options: `in_axes`, a dict from names of parameters to the axis of each, or one entry for each parameter; None for
        an array without the axis, which all batches read: it is not copied. `scalars`, the names of scalar parameters
        which are given as arrays of one axis, with an element for each batch.
    Errors: TypeError and ValueError for names and axes that do not fit; at a launch ValueError for batches of different
        lengths; when the kernel is specialised, TileValueError at a store into an array without the axis.

    Example:
        @ct.tile_kernel
        def add(x, y, out):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, 4) + ct.load(y, i, 4))

        rows = ct.vmap(add, in_axes={"y": None})
        x, y, out = np.arange(12.0).reshape(3, 4), np.ones(4), np.zeros((3, 4))
        rows[(3, 1)](x, y, out)
        print(out[2])  # [ 9. 10. 11. 12.]
        ct.vmap(add, in_axes={"z": 0})  # ValueError
    """
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"vmap: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    specialiser = kernel.specialiser
    names = [p.name for p in specialiser.params]
    single = (scalars,) if isinstance(scalars, str) else scalars
    axes = _axes(kernel.__name__, names, axis, in_axes)
    for name in single:
        _known(kernel.__name__, names, name)
    rules = LaunchRules(deterministic=specialiser.rules.deterministic)
    made = kernel_of(BatchedSource(specialiser.source, axes, frozenset(single)), kernel.hints, rules, batched_kernel)
    made._linear = {}
    return made


def _axes(kernel: str, names: Sequence[str], axis: int, given: Axes | None) -> dict[str, int | None]:
    """The batch axis of each parameter; None for one that has none."""
    out: dict[str, int | None] = dict.fromkeys(names, axis)
    if isinstance(given, Mapping):
        for name in given:
            _known(kernel, names, name)
        out |= given
    elif given is not None:
        if len(given) != len(names):
            raise ValueError(f"vmap: in_axes has {len(given)} entries, but kernel {kernel} has {len(names)} parameters")
        out = dict(zip(names, given, strict=True))
    for name, found in out.items():
        if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
            raise TypeError(f"vmap: the axis of {name!r} must be an int or None, not {found!r}")
        if found is not None and found < 0:
            raise ValueError(f"vmap: the axis of {name!r} is {found}; count axes from 0")
    return out


def _known(kernel: str, names: Sequence[str], name: str) -> None:
    if name not in names:
        raise ValueError(f"vmap: kernel {kernel} has no parameter {name!r}, only {', '.join(names)}")
