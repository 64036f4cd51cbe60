"""The protocols of the catalogue's kernels: which there are, for which trip counts, and how many states each has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tilewright.backend_ptx.simulator.protocols import Choices, Protocol, explore, loops_of, protocol_of
from tilewright.tileir.core import Function

BRANCHES = ((True,), (False,), (True, False))


class Kernel(NamedTuple):
    """A kernel with rings, as machine IR for sm_90a."""

    name: str
    function: Function

    @property
    def stages(self) -> int:
        return max(self.function.plan.stages)

    def protocol(self, *trips: int, **how: Any) -> Protocol:
        return protocol_of(self.function, Choices(trips), **how)


def machine_ir(case: Any) -> Function:
    function: Function = case.kernel.lower(*case.args(), target="sm_90a").machine_ir()
    return function


def kernels(cases: Iterable[Any]) -> list[Kernel]:
    """Those whose protocols are distinct, among the kernels with a producer."""
    seen: set[object] = set()
    out = []
    for case in cases:
        function = machine_ir(case)
        if not (function.plan.roles and function.plan.stages):
            continue
        kernel = Kernel(case.name, function)
        key = kernel.protocol(kernel.stages + 1).key()
        if key not in seen:
            seen.add(key)
            out.append(kernel)
    return out


def every_trip_count(kernel: Kernel) -> Iterable[int]:
    """From none to as many that each slot of a ring is filled twice; then the phases' parities come again."""
    return range(2 * kernel.stages + 1)


def edges_of_trip_counts(kernel: Kernel, most: int | None = None) -> Iterable[int]:
    """None, one, a full ring, the first slot filled again, each slot filled twice; `most` at most, and that one."""
    top = 2 * kernel.stages if most is None else min(2 * kernel.stages, most)
    return sorted({n for n in (0, 1, kernel.stages, kernel.stages + 1, top) if n <= top})


def protocols(kernel: Kernel, counts: Iterable[int]) -> Iterator[tuple[str, Protocol]]:
    """The protocols of a kernel for these trip counts, loops alike and unlike, and for branches one way, the other, and
    in turn; each once."""
    seen: set[object] = set()
    for n in counts:
        alike = [(n,)]
        for trips in alike + [(n, 0), (0, n), (2, n), (n, 3)] * (loops_of(kernel.function) > 1):
            for branches in BRANCHES:
                found = protocol_of(kernel.function, Choices(trips, branches))
                if found.key() not in seen:
                    seen.add(found.key())
                    yield f"{kernel.name}, trips {trips}, branches {branches}", found


def explored(kernel: Kernel, counts: Iterable[int], **how: Any) -> tuple[int, int]:
    """How many protocols and states the kernel has; ViolationError for a defect."""
    count = states = 0
    for _, protocol in protocols(kernel, counts):
        count += 1
        states += explore(protocol, **how).states
    return count, states
