"""Functions of other compilers: what their declarations say that they compute, on registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.ops.arith import pure
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.backend_ptx.simulator.text.types import numpy_type
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.foreign import find, meaning

Array = np.ndarray[Any, Any]


def operation(c: FunctionCompiler, i: LlvmInstruction) -> Operation | None:
    """What a call of a function or of inline assembly does, where it is of another compiler."""
    function = find(lambda known: known.called_by(i.text))
    if function is None:
        return None
    try:
        compute = meaning(function)
    except TileUnsupportedFeatureError as error:
        raise Unsupported(error.message) from None
    register = numpy_type(i.type)
    return pure(c, i, lambda *args: np.ascontiguousarray(compute(*args)).view(register))
