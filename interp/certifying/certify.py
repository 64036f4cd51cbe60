"""The certificate of a function: every array that it writes, judged."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.interp.certifying.batches import Batches
from tilewright.interp.certifying.certificate import Certificate, Output
from tilewright.interp.certifying.meetings import Meetings
from tilewright.interp.certifying.order import Orders
from tilewright.interp.certifying.slices import Code
from tilewright.interp.certifying.trees import trees
from tilewright.interp.proving.contract import Known
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.core import Function
from tilewright.tileir.tensor_cores import TensorCores
from tilewright.tileir.types import ListType


def certify(
    function: Function, known: Known | None = None, targets: Mapping[str, TensorCores] | None = None
) -> Certificate:
    """What the outputs' bits depend on, in all launches. `function`: Tile IR after the passes; `known`: the launch at
    hand, as for `prove`; `targets`: the tensor cores of each target, which say how matrix products add."""
    code = Code(function)
    orders, batches = Orders(code, Meetings(code, known or Known())), Batches(code)
    outputs = {}
    for position in sorted(written_arrays(function)):
        param = function.params[position]
        memory = code.memory(param)
        stores = [use.op for use in code.of(memory) if use.writes]
        found = trees(code, stores, targets or {})
        element = param.type.element if isinstance(param.type, ListType) else param.type
        order = orders.block_order(memory)
        batch = batches.batch(memory, element.rank, order, found)
        name = param.hint or f"#{position + 1}"
        outputs[name] = Output(name, order, orders.grid(memory), batch, found)
    return Certificate(function.name, outputs)
