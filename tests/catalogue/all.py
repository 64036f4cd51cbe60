"""Every catalogue case; names are unique. Nothing is reported of them by checked launches; those of
`outside.py` stand apart."""

from __future__ import annotations

import functools

from catalogue import (
    atomics,
    clusters,
    control,
    elementwise,
    folds,
    gallery,
    groups,
    hopper,
    loops,
    matmul,
    memory,
    pieces,
    reduction,
    rows,
    special,
    views,
)
from catalogue.case import Case
from support.thorough import THOROUGH


@functools.cache
def all_cases() -> tuple[Case, ...]:
    modules = (elementwise, memory, control, loops, reduction, atomics, folds, pieces, views, matmul, hopper, clusters,
               groups, gallery, rows, special)
    found = [case for module in modules for case in module.cases()]
    names = [case.name for case in found]
    assert len(set(names)) == len(names), "two catalogue cases have one name"
    return tuple(found)


def some_per_kernel(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Of the cases of a kernel three, or every third where there are more: a kernel's code is of a few kinds, whatever
    the dtype. Kernels begin in turn with their first, second and third, so that each dtype occurs with some kernel of a
    family. With TILEWRIGHT_THOROUGH all."""
    if THOROUGH:
        return cases
    groups: dict[int, list[Case]] = {}
    for case in cases:
        groups.setdefault(id(case.kernel), []).append(case)
    kept = {case.name for turn, group in enumerate(groups.values())
            for case in (group if len(group) <= 3 else group[turn % 3::3])}
    return tuple(case for case in cases if case.name in kept)


def one_per_kernel() -> tuple[Case, ...]:
    """The first case of each kernel and dtype of the first argument: enough where a kernel's code is what is tested."""
    seen: dict[object, Case] = {}
    for case in all_cases():
        key = (id(case.kernel), *(getattr(a, "dtype", type(a)) for a in case.args()))
        seen.setdefault(key, case)
    return tuple(seen.values())
