"""Arguments, parameters and constants of kernels as JSON has them, and back."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.arguments.annotations import ArrayAnnotation, ListAnnotation, Param, ScalarAnnotation
from tilewright.arguments.bind import Const, Scalar, Tuple
from tilewright.compilation.arguments import Exported
from tilewright.tileir import enums
from tilewright.tileir.dtypes import BY_IR, DType
from tilewright.tileir.types import ArrayType, ListType

_ENUMS = {kind.__name__: kind for kind in (enums.RoundingMode, enums.PaddingMode, enums.MemoryOrder, enums.MemoryScope)}
_KINDS = {kind.name: kind for kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                       inspect.Parameter.KEYWORD_ONLY)}


class NoConstant(ValueError):
    """A constant that no file can hold."""


def constant_data(value: Any) -> Any:
    """A constant. NoConstant for what means something in this process alone, such as a function."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, DType):
        return {"dtype": value.ir}
    if type(value).__name__ in _ENUMS and type(value) is _ENUMS[type(value).__name__]:
        return {"enum": type(value).__name__, "member": value.name}
    if type(value) is tuple:
        return {"tuple": [constant_data(item) for item in value]}
    raise NoConstant(f"the constant {value!r} cannot be kept in a file; bool, int, float, str, None, dtypes, enum "
                     "members and tuples of those can")


def constant_of(data: Any) -> Any:
    """The inverse of constant_data. Raises KeyError, TypeError or ValueError on anything else."""
    if not isinstance(data, dict):
        return data
    [(kind, value), *more] = data.items()
    match kind:
        case "float":
            return float.fromhex(value)
        case "dtype":
            return BY_IR[value]
        case "enum":
            return _ENUMS[value][dict(more)["member"]]
        case "tuple":
            return tuple(constant_of(item) for item in value)
    raise ValueError(f"{data!r} is no constant")


def type_data(type: ArrayType) -> dict[str, Any]:
    """What is promised of an array; strides in elements, null where nothing is."""
    return {"dtype": type.dtype.ir, "rank": type.rank, "index": type.index.ir, "extents": list(type.extents),
            "strides": list(type.strides), "extent_divisors": list(type.extent_div),
            "stride_divisors": list(type.stride_div), "alignment": type.align, "disjoint": type.disjoint,
            "small": type.small, "static": [list(axes) for axes in type.declared]}


def type_of(data: Mapping[str, Any]) -> ArrayType:
    declared = tuple(tuple(axes) for axes in data["static"])
    return ArrayType(
        BY_IR[data["dtype"]], tuple(data["extents"]), tuple(data["strides"]), tuple(data["extent_divisors"]),
        tuple(data["stride_divisors"]), data["alignment"], data["disjoint"], data["small"], BY_IR[data["index"]],
        declared=(declared[0], declared[1]))


def argument_data(argument: Any) -> dict[str, Any]:
    """An argument that a binary is made for. NoConstant, with its name, where a file cannot hold it."""
    name = argument.name
    if isinstance(argument, Const):
        try:
            return {"name": name, "kind": "constant", "value": constant_data(argument.value)}
        except NoConstant as error:
            raise NoConstant(f"argument {name!r}: {error}") from None
    if isinstance(argument, Scalar):
        return {"name": name, "kind": "scalar", "dtype": argument.dtype.ir}
    if isinstance(argument, Tuple):
        if argument.kind is not tuple:
            raise NoConstant(f"argument {name!r} is a {argument.kind.__name__}; files hold plain tuples alone")
        return {"name": name, "kind": "tuple", "items": [argument_data(item) for item in argument.items]}
    known = argument.type(True)
    if isinstance(known, ListType):
        return {"name": name, "kind": "list", "element": type_data(known.element)}
    return {"name": name, "kind": "array", "type": type_data(known)}


def argument_of(data: Mapping[str, Any]) -> Any:
    """The inverse of argument_data: an argument of which only the type is known."""
    name = str(data["name"])
    match data["kind"]:
        case "constant":
            return Const(name, constant_of(data["value"]))
        case "scalar":
            return Scalar(name, BY_IR[data["dtype"]], None)
        case "tuple":
            return Tuple(name, [argument_of(item) for item in data["items"]])
        case "list":
            return Exported(name, ListType(type_of(data["element"])))
        case "array":
            return Exported(name, type_of(data["type"]))
    raise ValueError(f"{data['kind']!r} is no kind of argument")


def parameters_data(parameters: Sequence[inspect.Parameter], params: Sequence[Param]) -> list[dict[str, Any]]:
    """How a kernel is called: names, defaults and annotations. A default that no file can hold is left out."""
    rows = []
    for parameter, param in zip(parameters, params, strict=True):
        row = {"name": parameter.name, "call": parameter.kind.name, "annotation": _annotation_data(param)}
        if parameter.default is not inspect.Parameter.empty:
            with contextlib.suppress(NoConstant):
                row["default"] = constant_data(parameter.default)
        rows.append(row)
    return rows


def parameters_of(data: Sequence[Mapping[str, Any]]) -> tuple[tuple[inspect.Parameter, ...], tuple[Param, ...]]:
    """The inverse of parameters_data."""
    parameters = tuple(inspect.Parameter(
        row["name"], _KINDS[row["call"]],
        default=constant_of(row["default"]) if "default" in row else inspect.Parameter.empty) for row in data)
    return parameters, tuple(_param(row["name"], row["annotation"]) for row in data)


def _annotation_data(param: Param) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if param.constant:
        found["constant"] = True
    if param.choices is not None:
        found["choices"] = [constant_data(choice) for choice in param.choices]
    if param.scalar is not None:
        found["scalar"] = param.scalar.dtype.ir
    if param.array is not None:
        found["array"] = _array_data(param.array)
    if param.list is not None:
        found["list"] = _array_data(param.list.element)
    if param.items is not None:
        found["items"] = [_annotation_data(item) for item in param.items]
        found["repeat"] = param.repeat
    if param.dims is not None:
        found["dims"] = list(param.dims)
    return found


def _param(name: str, found: Mapping[str, Any]) -> Param:
    items = found.get("items")
    return Param(
        name, constant=found.get("constant", False),
        scalar=ScalarAnnotation(BY_IR[found["scalar"]]) if "scalar" in found else None,
        array=_array(found["array"]) if "array" in found else None,
        list=ListAnnotation(_array(found["list"])) if "list" in found else None,
        items=None if items is None else tuple(_param(f"{name}[{i}]", item) for i, item in enumerate(items)),
        repeat=found.get("repeat", False),
        choices=tuple(map(constant_of, found["choices"])) if "choices" in found else None,
        dims=tuple(found["dims"]) if "dims" in found else None)


def _array_data(annotation: ArrayAnnotation) -> dict[str, Any]:
    return {"index": annotation.index_dtype.ir, "static_shape_dims": list(annotation.static_shape_dims),
            "static_stride_dims": list(annotation.static_stride_dims)}


def _array(data: Mapping[str, Any]) -> ArrayAnnotation:
    return ArrayAnnotation(BY_IR[data["index"]], tuple(data["static_shape_dims"]), tuple(data["static_stride_dims"]))
