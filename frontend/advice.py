"""What to write instead: hints for what users reach for out of habit from Python, NumPy and Triton."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable
from typing import Any

from tilewright.frontend.values import (
    Closure,
    RawMemory,
    SliceSpec,
    Struct,
    Text,
    TiledView,
    Val,
    is_array,
    is_list,
    is_tile,
)

LOAD_FIRST = "load a tile of the array first: ct.load(a, index=..., shape=...)"
_NO_POINTERS = "arrays are no pointers: ct.gather(a, positions) reads elements, ct.scatter(a, positions, v) writes them"

# Functions of NumPy, math, torch and Triton that the language has under another name, or as an expression.
_FUNCTIONS: dict[str, str] = {
    "program_id": "write ct.bid(axis)", "num_programs": "write ct.num_blocks(axis)",
    "dot": "write a @ b, or ct.mma(a, b, acc)", "mean": "write ct.sum(t, axis) / n",
    "average": "write ct.sum(t, axis) / n", "var": "write ct.sum((t - mean) * (t - mean), axis) / n",
    "std": "write ct.sqrt(ct.sum((t - mean) * (t - mean), axis) / n)", "norm": "write ct.sqrt(ct.sum(t * t, axis))",
    "count_nonzero": "write ct.sum((t != 0).astype(ct.int32), axis)", "outer": "write x[:, None] * y[None, :]",
    "einsum": "write a @ b; or multiply tiles that broadcast, and ct.sum along an axis",
    "silu": "write x * ct.sigmoid(x)", "gelu": "write 0.5 * x * (1 + ct.erf(x * 0.7071067811865476))",
    "dropout": "write ct.where(ct.random.uniform(seed, index) < p, 0, x / (1 - p))",
    "logaddexp": "write m + ct.log(ct.exp(x - m) + ct.exp(y - m)) with m = ct.maximum(x, y)",
    **dict.fromkeys(("tril", "triu", "eye", "diag"), "compare positions: ct.where(i[:, None] >= j[None, :], t, 0), "
                    "i and j of ct.arange"),
    "linspace": "write low + step * ct.arange(n, dtype=ct.float32), n a power of two",
    **{name: f"write math.{name}" for name in ("inf", "nan", "pi", "e")},
    "relu": "write ct.maximum(x, 0)", "softmax": "write e = ct.exp(t - ct.max(t, axis, keepdims=True)), "
    "then e / ct.sum(e, axis, keepdims=True)", "zeros_like": "write ct.zeros(t.shape, t.dtype)",
    "ones_like": "write ct.ones(t.shape, t.dtype)", "full_like": "write ct.full(t.shape, value, t.dtype)",
    "empty": "write ct.zeros(shape, dtype)", "array": "write ct.astile((a, b), dtype=...)",
    "trans": "write ct.transpose(t)",
    "swapaxes": "write ct.transpose(t, axis0, axis1)",
    **dict.fromkeys(("concatenate", "concat"), "write ct.cat((a, b), axis)"),
    "stack": "add an axis to each and write ct.cat((a, b), axis)", "vstack": "write ct.cat((a, b), 0)",
    "clip": "write ct.clamp(x, low, high)", "rint": "write ct.round(x)",
    **{f"arc{name}": f"write ct.a{name}(x)" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "write ct.atan2(y, x)", "power": "write x ** y",
    "square": "write x * x", "fma": "write a * b + c", "multiply": "write x * y", "subtract": "write x - y",
    "divide": "write x / y", "absolute": "write ct.abs(x)", "fabs": "write ct.abs(x)",
    "fmax": "write ct.maximum(x, y)",
    "fmin": "write ct.minimum(x, y)", "log10": "write ct.log2(x) * 0.30102999566398120",
    "logical_and": "write a & b",
    "logical_or": "write a | b",
    "logical_not": "write ~a",
    "sign": "write ct.where(x > 0, 1, ct.where(x < 0, -1, 0))", "popc": "write ct.popcount(x)",
    **dict.fromkeys(("convert", "cast"), "write x.astype(dtype)"), "size": "multiply the lengths of t.shape",
    "shape": "write t.shape", "len": "write t.shape[0]", "take_along_axis": "write ct.take(t, index, axis)",
    "constexpr": "annotate the parameter with ct.Constant[int]", "static_range": "write ct.static_iter(range(n))",
    "multiple_of": "write ct.assume_divisible_by(x, n)", "device_print": "write ct.printf or print",
    "device_assert": "write ct.assert_(cond, message)", "atomic_sub": "write ct.atomic_add(a, i, -x)",
    "jit": "decorate with @ct.tile_kernel", "debug_barrier": "leave it out: a block runs tile by tile",
    "syncthreads": "leave it out: a block runs tile by tile", "make_block_ptr": "write a.tiled_view(tile_shape)",
    "arange": "write ct.arange(n, dtype=ct.int32), n a power of two", "range": "write range(n)",
    "fdiv": "write x / y", "cdiv": "write ct.cdiv(x, y)", "print": "write print(...)",
    **dict.fromkeys(("rand", "random", "uniform"), "write ct.random.uniform(seed, index)"),
    **dict.fromkeys(("randn", "normal"), "write ct.random.normal(seed, index)"),
    "randint": "write ct.random.randint(seed, index, low=0, high=n)",
    "float": "write ct.float32", "int": "write ct.int32", "bool": "write ct.bool_", "half": "write ct.float16",
    "double": "write ct.float64", "float8e4nv": "write ct.float8_e4m3fn", "float8e5": "write ct.float8_e5m2",
}
_BUILTINS: dict[str, str] = {
    "set": "write a tuple: (a, b)",
    "type": "test x.dtype == ct.float32, or x.ndim",
    "filter": "write tuple(x for x in ct.static_iter(...) if c)",
    "sorted": "write ct.sort(t) of a tile, or sort in ct.static_eval(...)",
    "iter": "loop with range or ct.static_iter", "next": "loop with range or ct.static_iter",
    "slice": "write ct.Slice(start, length)", "input": "pass the value as an argument of the kernel",
    "open": "kernels have no files: print(...) shows values, arrays carry them out",
    "id": "compare values instead", "hash": "compute it from integers", "hasattr": "know it from the annotation",
    "setattr": "make a new object: dataclasses.replace(x, field=...)", "vars": "name the fields one by one",
    "eval": "write ct.static_eval(...)", "exec": "write ct.static_eval(...)", "object": "use a frozen dataclass",
    "complex": "compute with real and imaginary part as two tiles", "bytes": "use a uint8 array",
    "super": "call the function of the other class by its name",
}
# Members that NumPy and torch users try, and what to write instead.
_TILE_MEMBERS: dict[str, str] = {
    "T": "write ct.transpose(t)", "size": "multiply the lengths of t.shape", "mean": "write ct.sum(t, axis) / n",
    "to": "write t.astype(dtype)", "type": "write t.astype(dtype)", "float": "write t.astype(ct.float32)",
    "half": "write t.astype(ct.float16)", "int": "write t.astype(ct.int32)", "long": "write t.astype(ct.int64)",
    "view": "write t.reshape(shape), or ct.bitcast(t, dtype)", "flatten": "write t.reshape((-1,))",
    "ravel": "write t.reshape((-1,))", "squeeze": "write t.reshape(shape)",
    "unsqueeze": "write ct.expand_dims(t, axis)",
    "expand": "write ct.broadcast_to(t, shape)", "copy": "leave it out: tiles do not change",
    "clone": "leave it out: tiles do not change", "fill": "write ct.full(t.shape, value, t.dtype)",
    "numel": "multiply the lengths of t.shape", "any": "write ct.any(t, axis)", "all": "write ct.all(t, axis)",
    "clip": _FUNCTIONS["clip"], "clamp": _FUNCTIONS["clip"], "dot": "write a @ b", "element_ty": "write t.dtype",
    "sum": "write ct.sum(t, axis)", "prod": "write ct.prod(t, axis)", "max": "write ct.max(t, axis)",
    "min": "write ct.min(t, axis)", "argmax": "write ct.argmax(t, axis)", "argmin": "write ct.argmin(t, axis)",
    "cumsum": "write ct.cumsum(t, axis)", "load": "tiles are values already; only arrays are loaded",
}
_ARRAY_MEMBERS: dict[str, str] = {
    "T": 'load its tiles with order="F"',
    "itemsize": "it follows from a.dtype", "data_ptr": _NO_POINTERS, "stride": "write a.strides[axis]",
    **dict.fromkeys(("size", "numel"), "multiply the lengths of a.shape"), "dim": "write a.ndim",
    "load": "write ct.load(a, index=..., shape=...)", "store": "write ct.store(a, index=..., tile=...)",
}


# Arguments of other libraries' functions: (function, argument) -> what to write.
_KEYWORDS: dict[tuple[str, str], str] = {
    ("load", "mask"): "tiles are padded where they leave the array; a mask has ct.gather(a, positions, mask=...)",
    ("load", "other"): "write padding_mode=ct.PaddingMode.ZERO; ct.gather(a, positions, padding_value=...)",
    ("store", "mask"): "what leaves the array is not written; a mask has ct.scatter(a, positions, v, mask=...)",
    ("gather", "other"): "write padding_value=...",
    ("gather", "padding_mode"): "write padding_value=...",
    **{("load", name): "write padding_mode=ct.PaddingMode.ZERO" for name in ("padding", "padding_value")},
    ("gather", "padding"): "write padding_value=...",
    **{(f"atomic_{kind}", "mask"): "elements outside of the array are left out: give the others the index -1, as by "
       "ct.where(mask, i, -1)" for kind in ("add", "max", "min", "and", "or", "xor", "xchg", "cas")},
    **{(f, "dim"): "write axis=..." for f in ("sum", "prod", "max", "min", "argmax", "argmin", "cumsum", "cat")},
    **{(f, "dtype"): "write x.astype(dtype) first" for f in ("sum", "prod", "cumsum", "cumprod")},
}


_CALL_IT = "call it: write its arguments in parentheses"

# What to write instead, by the class of a value that stands where a tile or a number is wanted; the first that fits.
_INSTEAD_OF: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (TiledView, "load a tile of the view first: view.load(index)"),
    (RawMemory, "load elements first: memory.load_offset(offsets)"),
    (SliceSpec, "a Slice is for load_advanced_indexing and store_advanced_indexing"),
    ((str, Text), "text can be printed and joined with other text, nothing else"),
    (enum.Enum, "write .value, or make the class an IntEnum"),
    (tuple, "compute with its items one by one; + joins two tuples"),
    (Struct, "compute with its fields one by one"),
    (types.NoneType, "a function without return gives None"),
    ((types.FunctionType, types.BuiltinFunctionType, Closure), _CALL_IT),
)


def on_number(value: Val, other: Val = None) -> list[str]:
    """For a value that stands where a tile or a number is wanted; `other` is the second operand."""
    if is_array(value):
        return [LOAD_FIRST, _NO_POINTERS] if is_tile(other) and other.type.dtype.is_int else [LOAD_FIRST]
    if is_list(value):
        return ["take one array of the list, xs[i], and load a tile of it"]
    if isinstance(value, (str, Text)) and is_tile(other):
        return ['put values into an f-string: f"value {x}"']
    found = next((advice for kind, advice in _INSTEAD_OF if isinstance(value, kind)), "")
    return [found] if found else [_CALL_IT] if _is_builtin(value) else []


def _is_builtin(value: Val) -> bool:
    return isinstance(getattr(value, "__tilewright_builtin__", None), str)


def on_member(kind: str, name: str) -> list[str]:
    """For a member that a tile or an array ("Tile", "Array") lacks."""
    table = {"Tile": _TILE_MEMBERS, "Array": _ARRAY_MEMBERS}.get(kind, {})
    if name in table:
        return [table[name]]
    if kind == "Tile" and name.endswith("_") and not name.startswith("_"):
        return [f"tiles do not change; write t = ct.{name[:-1]}(t)"]
    of_tile = name in _TILE_MEMBERS or name in ("astype", "reshape", "permute", "transpose", "extract", "item")
    return [LOAD_FIRST] if kind == "Array" and of_tile else []


def on_keyword(function: str, name: str, allowed: Iterable[str]) -> list[str]:
    """For an argument that a function does not have."""
    if (function, name) in _KEYWORDS:
        return [_KEYWORDS[function, name]]
    return close_to(name, allowed)


def close_to(name: str, names: Iterable[str], prefix: str = "") -> list[str]:
    """A name that was probably meant."""
    import difflib

    close = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.75)
    return [f"did you mean {prefix}{close[0]}?"] if close else []


def on_function(name: str) -> list[str]:
    """For a function of another library, or one that the language lacks."""
    return [_FUNCTIONS[name]] if name in _FUNCTIONS else []


def on_builtin(name: str) -> list[str]:
    """For one of Python's own functions that kernels lack."""
    return [_BUILTINS[name]] if name in _BUILTINS else on_function(name)


def on_object(value: Any) -> list[str]:
    """For a captured object that kernels cannot use."""
    if isinstance(value, (list, dict, set, frozenset)):  # lists and dicts of other classes
        return ["use a tuple or a frozen dataclass; ct.static_eval(...) can read it as it is"]
    if any(hasattr(value, f"__{name}__") for name in ("array_interface", "dlpack", "cuda_array_interface")):
        return ["pass it as an argument of the kernel"]
    if type(value).__name__ == "tile_kernel":
        return ["a kernel is launched from the host only; put what both need into a plain function"]
    if isinstance(value, (bytes, complex)):
        return []
    return ["make it an instance of a frozen dataclass, or pass what it holds as arguments"]
