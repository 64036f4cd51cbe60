"""Functions of typed constants: what the op gives for them, so that a constant of a dtype computes as a tile does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.frontend import folding
from tilewright.frontend.promotion import convert
from tilewright.frontend.translator import Translator
from tilewright.tileir.analysis.evaluate import evaluate
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import TileType

Number = bool | int | float


def fold_typed(t: Translator, what: str, op: type[Op], fold: Callable[..., Any], numbers: Sequence[Number],
               dtype: DType, **fields: Any) -> Value:
    """`op` of constants of `dtype` with its options `fields`; by `fold`, in Python, where the evaluation of ops leaves
    it to the executor.

    A mistake in integers, such as a division by zero, is the user's error; floats have NaN and infinity for it.
    """
    of = [n for n, f in op.fields.items() if f.kind == "operand"]
    numbers = [convert(number, dtype) for number in numbers]
    made: dict[str, Any] = {name: Constant(value=number, type=TileType(dtype)).result
                            for name, number in zip(of, numbers, strict=True)}
    trial = op(**made, **fields)
    result = trial.infer()[0].dtype  # type: ignore[union-attr]
    value = evaluate(trial, numbers)
    if value is None and not fields:
        try:
            value = folding.run(what, fold, *numbers)
        except TileValueError:
            if not dtype.is_float:
                raise
    if value is None:
        return t.emit(op, **{name: t.constant(n, dtype) for name, n in zip(of, numbers, strict=True)}, **fields)
    return t.constant(convert(value, result), result)
