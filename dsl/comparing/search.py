"""The search for the first op that is wrong: runs of both sides with probes on some ops, until one explains the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.comparing.bounds import same
from tilewright.comparing.flow import made
from tilewright.comparing.outputs import slight
from tilewright.comparing.probes import Probe, Probed, can_probe, written_parameter
from tilewright.comparing.records import Fault, Records, is_unwritten, owner_of
from tilewright.comparing.sites import Sites
from tilewright.comparing.stores import wrong_store
from tilewright.launching.grid import Grid
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.memory import Scatter, Store
from tilewright.tileir.types import TileType

Run = Callable[[Function, Sequence[Any]], list[Any]]
GROUP = 24  # probes of one run
FEWEST = (GROUP, 4, 1)  # where a defect hides from many probes
MOST_RUNS = 40
MOST_BYTES = 192 << 20  # of the probes of one run


@dataclass
class Search:
    """`runs` executes a function with arrays for its probes on either side, and gives the arguments afterwards;
    `outputs` are the positions that differ without probes.
    """

    function: Function
    sites: Sites
    grid: Grid
    runs: tuple[Run, Run]
    initial: Sequence[Any]
    records: Records
    outputs: Sequence[int]
    count: int = 0
    hidden: int = 0
    unsure: list[Fault] = field(default_factory=list)

    def find(self) -> Fault | None:
        """The first op that is wrong by itself; else the first that may be."""
        for size in FEWEST:
            found = self._values(size) or self._stores()
            if found is not None or not self.hidden or self.count > MOST_RUNS:
                break
        if found is None and self.unsure and not self.vanished:
            found = min(self.unsure, key=lambda fault: fault.moment)
        return found

    @property
    def vanished(self) -> bool:
        """Whether the defect did not show in any run with probes."""
        return self.count > 0 and self.hidden == self.count

    @property
    def complete(self) -> bool:
        """Whether every op that the outputs are made from has been looked at."""
        return self.count <= MOST_RUNS and not self.hidden and not self.unsure and not self.records.skipped and all(
            self._fits(v) and can_probe(v) for v in self.sites.of_value if isinstance(v.type, TileType))

    def _values(self, size: int) -> Fault | None:
        order = self._candidates()
        start = self._narrow(order, size)
        for values in (order[start:], order[:start]):
            for at in range(0, len(values), size):
                if self.count > MOST_RUNS:
                    return None
                found = self._judge(values[at : at + size])
                if found is not None:
                    return found
        return None

    def _narrow(self, order: Sequence[Value], size: int) -> int:
        """By bisection, where the first values that differ stand: what comes before is looked at last."""
        low, high = 0, len(order)
        while high - low > 2 * size and self.count <= MOST_RUNS:
            middle = (low + high) // 2
            values = order[middle : middle + max(1, size // 2)]
            self._record(values)
            if any(value in self.records.values and self.records.differing(value).size for value in values):
                high = middle + len(values)
            else:
                low = middle
        return low

    def _candidates(self) -> list[Value]:
        """What the outputs that differ are made from, in the order of the text."""
        stores = [op for op in self.function.walk() if self._writes(op)]
        conditions = [v for op in self.function.walk() if op.blocks for v in op.operands]
        used = set(origins([v for op in stores for v in op.operands] + conditions, self.sites.blocks))
        reads = any(op.effectful and op.effects().reads and not op.acts for op in self.function.walk())
        memory = reads and any(self._read_back(op) for op in self.function.walk())
        return [v for v, site in self.sites.of_value.items()
                if can_probe(v) and (memory or v in used) and not isinstance(v.op, Constant) and self._fits(v)]

    def _fits(self, value: Value) -> bool:
        return Probe(self.sites.of_value[value], value).bytes(self.records.blocks) <= MOST_BYTES

    def _writes(self, op: Op) -> bool:
        if not op.effectful or not op.effects().writes or "array" not in op.fields:
            return False
        parameter = written_parameter(self.function, op)
        return parameter is None or parameter in self.outputs

    def _read_back(self, op: Op) -> bool:
        """Whether an op reads what the kernel writes."""
        return op.effectful and bool(op.effects().reads) and self.records.touches_written(op)

    def _judge(self, values: Sequence[Value]) -> Fault | None:
        """Whether one of the ops that make these values is wrong."""
        ops = list(dict.fromkeys(op for value in values if (op := owner_of(value, self.sites)) is not None))
        self._record(values)
        suspects = [op for op in ops if self._differs(op)]
        missing = [v for op in suspects for v in self.records.needed(op)]
        if missing:
            self._record([v for v in dict.fromkeys([*missing, *values]) if can_probe(v)])
        found = [f for op in suspects if (f := self.records.wrong(op)) is not None]
        for fault in sorted(found, key=lambda f: f.moment):
            confirmed = self._confirmed(fault)
            if confirmed is not None and confirmed.sure:
                return confirmed
            self.unsure += [confirmed] if confirmed is not None else []
        return None

    def _confirmed(self, fault: Fault) -> Fault | None:
        """The fault as a run shows it in which the op's operands and results were recorded together: probes change what
        is compiled, and so how sums and functions round."""
        values = [v for v in dict.fromkeys([*self.records.inputs(fault.op), *made(fault.op)]) if can_probe(v)]
        if self.records.together(values):
            return fault
        self._record(values)
        return self.records.wrong(fault.op)

    def _differs(self, op: Op) -> bool:
        return any(v in self.records.values and self.records.differing(v).size for v in made(op))

    def _record(self, values: Sequence[Value]) -> None:
        probes = [Probe(self.sites.of_value[v], v) for v in values if can_probe(v) and not isinstance(v.op, Constant)]
        while probes:
            size, taken = 0, 0
            for probe in probes:
                size += probe.bytes(self.records.blocks)
                if taken and size > MOST_BYTES:
                    break
                taken += 1
            self.records.add(probes[:taken], self.run(probes[:taken]))
            probes = probes[taken:]

    def run(self, probes: Sequence[Probe]) -> tuple[list[Any], list[Any]]:
        """Both sides with probes: what these have got."""
        return self._run(probes)[0]

    def _run(self, probes: Sequence[Probe]) -> tuple[tuple[list[Any], list[Any]], list[list[Any]]]:
        """The same, and the arguments afterwards."""
        outputs: list[list[Any]] = []
        got: list[list[Any]] = []
        for run in self.runs:
            probed = Probed(self.function, probes, self.grid)
            arrays = probed.arrays(self.initial)
            outputs.append(run(probed.function, arrays))
            got.append(arrays)
        self.count += 1
        self.hidden += slight(*outputs)
        return (got[0], got[1]), outputs

    def _stores(self) -> Fault | None:
        """Whether a store puts right values into wrong places."""
        for op in self.function.walk():
            if not isinstance(op, Store | Scatter) or not self._writes(op):
                continue
            if written_parameter(self.function, op) is None:
                continue
            site = self.sites.of_op[op]
            values = [v for v in self.records.inputs(op) if can_probe(v)]  # of this run: others may round otherwise
            probes = [Probe(site, store=op), *(Probe(self.sites.of_value[v], v) for v in values)]
            (one, other), outputs = self._run(probes)
            self.records.add(probes[1:], (one[1:], other[1:]))
            shadows = one[0], other[0]
            found = wrong_store(self.records, op, shadows) or self._misplaced(op, shadows, outputs)
            if found is not None and found.sure:
                return found
            self.unsure += [found] if found is not None else []
        return None

    def _misplaced(self, op: Op, shadows: tuple[Any, Any], outputs: list[list[Any]]) -> Fault | None:
        """Whether the array itself holds something else than a second one to which the same was stored."""
        parameter = written_parameter(self.function, op)
        assert parameter is not None
        writers = [o for o in self.function.walk() if o.effectful and o.effects().writes]
        if writers != [op]:
            return None
        for number in self.records.judged:
            array = outputs[number][parameter]
            if (~same(array, shadows[number]) & ~is_unwritten(shadows[number])).any():
                both = outputs[0][parameter], outputs[1][parameter]
                return Fault(op, number, self.sites.of_op[op], 0, want=shadows[number], got=both)
        return None
