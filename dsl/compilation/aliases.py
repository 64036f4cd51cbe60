"""Which parameters of a signature may share memory, from the alias groups of its constraints."""

from __future__ import annotations

from typing import Any

from tilewright.compilation.arguments import arguments_of
from tilewright.compilation.constraints import ArrayConstraint, TupleConstraint, with_groups
from tilewright.compilation.signature import KernelSignature
from tilewright.kernel import tile_kernel
from tilewright.tileir.plan import NO_ALIASES, Aliases


def aliases_of(kernel: tile_kernel, signature: KernelSignature) -> Aliases:
    """The parameters that may overlap as their constraints say: those that are in a group together."""
    groups: list[tuple[set[int], set[str]]] = []
    for position, names in enumerate(_leaf_groups(kernel, signature)):
        joined = {position}, set(names)
        for group in [g for g in groups if g[1] & joined[1]]:
            groups.remove(group)
            joined = group[0] | joined[0], group[1] | joined[1]
        groups.append(joined)
    shared = sorted(tuple(sorted(positions)) for positions, _ in groups if len(positions) > 1)
    return Aliases(groups=tuple(shared)) if shared else NO_ALIASES


def _leaf_groups(kernel: tile_kernel, signature: KernelSignature) -> list[tuple[str, ...]]:
    """Per parameter of the Tile IR function the alias groups of the array memory behind it."""
    from tilewright.arguments.bind import Const, Tuple

    def walk(argument: Any, constraint: Any) -> list[tuple[str, ...]]:
        if isinstance(argument, Const):
            return []
        if isinstance(argument, Tuple):
            assert isinstance(constraint, TupleConstraint)
            return [leaf for a, c in zip(argument.items, constraint.items, strict=True) for leaf in walk(a, c)]
        arrays = [groups for c, groups in with_groups([constraint]) if isinstance(c, ArrayConstraint)]
        return [arrays[0] if arrays else ()]

    pairs = zip(arguments_of(kernel, signature.parameters), signature.parameters, strict=True)
    return [leaf for argument, constraint in pairs for leaf in walk(argument, constraint)]
