"""Registers as the NumPy values that a user knows, and the names that a mark gives them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.formats import array_dtype, format_of
from tilewright.tileir.core import Value
from tilewright.tileir.ops.debug import HOLE
from tilewright.tileir.types import TileType

Read = Callable[[Value], Any]


def shown(register: Any, value: Value) -> Any:
    """The content of a register of one block: a tile in its own dtype (ml_dtypes where NumPy has none), an array as a
    view of its memory."""
    if isinstance(register, list):
        return [shown(item, value) for item in register]
    if isinstance(register, ArrayRef):
        view: Any = register.view(int(register.offset), tuple(int(n) for n in register.extents), register.strides)
        return view
    if not isinstance(value.type, TileType):
        return register
    held: Any = np.array(register).reshape(value.type.shape)
    dtype = value.type.dtype
    tile = held.astype(np.float32) if dtype.name == "tfloat32" else format_of(dtype).encode(held)
    return np.asarray(tile).view(array_dtype(dtype))[()]


def binding(text: str, values: Iterator[Value]) -> tuple[str, Callable[[Read], Any]]:
    """The name in a binding of a mark, and how to make its Python value; takes its run-time parts from `values`."""
    name, _, expression = text.partition("=")
    return name, _maker(ast.parse(expression, mode="eval").body, values)


def _maker(node: ast.expr, values: Iterator[Value]) -> Callable[[Read], Any]:
    if isinstance(node, ast.Name) and node.id == HOLE:
        value = next(values)
        return lambda read: read(value)
    if isinstance(node, ast.Tuple):
        items = [_maker(item, values) for item in node.elts]
        return lambda read: tuple(item(read) for item in items)
    if isinstance(node, ast.Call) and node.keywords:
        fields = {str(word.arg): _maker(word.value, values) for word in node.keywords}
        return lambda read: SimpleNamespace(**{field: make(read) for field, make in fields.items()})
    if isinstance(node, ast.Call):  # float("nan"), or an object without fields
        constant: Any = float(ast.literal_eval(node.args[0])) if node.args else SimpleNamespace()
    else:
        constant = ast.literal_eval(node)
    return lambda read: constant
