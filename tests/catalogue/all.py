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


@functools.cache
def all_cases() -> tuple[Case, ...]:
    modules = (elementwise, memory, control, loops, reduction, atomics, folds, pieces, views, matmul, hopper, clusters,
               groups, gallery, rows, special)
    found = [case for module in modules for case in module.cases()]
    names = [case.name for case in found]
    assert len(set(names)) == len(names), "two catalogue cases have one name"
    return tuple(found)


def one_per_kernel() -> tuple[Case, ...]:
    """The first case of each kernel and dtype of the first argument: enough where a kernel's code is what is tested."""
    seen: dict[object, Case] = {}
    for case in all_cases():
        key = (id(case.kernel), *(getattr(a, "dtype", type(a)) for a in case.args()))
        seen.setdefault(key, case)
    return tuple(seen.values())
