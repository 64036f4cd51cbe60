"""The cases of `python -m benchmarks.interp`, one module a subject: each a launch beside the same in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.interp_cases import elementwise, launches, memory, products, rows
from benchmarks.interp_cases.case import Case

__all__ = ["Case", "cases"]


def cases() -> Iterator[Case]:
    """Every case, made when it is asked for."""
    for module in (elementwise, rows, products, memory, launches):
        for make in module.CASES:
            yield make()
