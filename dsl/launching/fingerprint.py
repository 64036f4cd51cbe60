"""What a kernel's function says and can reach: a text that is another one wherever its Tile IR might be.

The frontend reads a function's lines, and the globals, builtins and closure values that its code names; of a module and
of a function it reads attributes that the code names too, and functions it reads likewise. All that is in the text,
also what the frontend would not reach. What has no text that says what it is raises Unclear, and so does Python that
runs while compiling (`static_eval`), which may read anything.
"""

from __future__ import annotations

import enum
import functools
import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any

from tilewright.arguments.constants import is_typed_number
from tilewright.tileir.captured import captured_by, codes_of
from tilewright.tileir.dtypes import DType
from tilewright.tileir.foreign import is_declared

RUNS_PYTHON = frozenset(("static_eval", "static_assert", "static_iter"))
OURS = "tilewright"
# Packages whose functions and dtypes are known by their names; a note's key has their versions (`notes.py`), or the
# frontend knows their dtypes alone.
FOREIGN = "numpy", "ml_dtypes", "torch", "jax", "jaxlib", "cupy"
# Kinds of objects that a kernel cannot use: that there is one is all that matters.
_REFUSED = set, frozenset, bytearray
_REFUSED_FOREIGN = "ndarray", "Tensor", "Parameter", "ArrayImpl"
_NATIVE = "ufunc", "_ArrayFunctionDispatcher", "builtin_function_or_method"
# What a function holds for us or for torch.compile.
_MARKS = frozenset((
    "__tilewright_source__", "__tilewright_captured__", "_torchdynamo_disable", "_torchdynamo_disable_msg"))

Names = frozenset[str]


class Unclear(Exception):
    """Something has no text that says what it is."""


class Fingerprint:
    """Collects the texts of values that a kernel's function can reach; functions among them stand in `parts`, once
    each. What they capture is read as the frontend reads it: once for the kernel."""

    def __init__(self, kernel: FunctionType) -> None:
        self._kernel = kernel
        self.parts: list[str] = []
        self._functions: dict[FunctionType, int] = {}
        self._modules: set[tuple[int, Names]] = set()

    def text(self, value: Any, names: Names = frozenset()) -> str:
        """Of a value whose attributes are read by these names. Raises Unclear."""
        kind = type(value)
        if kind in (NoneType, EllipsisType, bool, int, str, bytes):
            return repr(value)
        if kind is float:
            return value.hex()  # type: ignore[no-any-return]
        if kind in (tuple, list, dict):
            return self._container(value, names)
        if kind is FunctionType:
            return self._function(value)
        if isinstance(value, functools._lru_cache_wrapper):  # its values are computed anew in kernels
            return self.text(value.__wrapped__, names)
        if kind is ModuleType:
            return self._module(value, names)
        if kind is DType:
            return f"dtype {value.name}"
        if kind is BuiltinFunctionType and (value.__self__ is None or type(value.__self__) is ModuleType):
            return f"native {value.__module__}.{value.__qualname__}"
        if isinstance(value, type):
            return _type(value)
        if is_declared(value):
            return f"device function {value.name}"
        return _foreign(value, kind)

    def _container(self, value: Any, names: Names) -> str:
        """By its items; of a dict in its order, which loops show."""
        items = value if type(value) is not dict else (part for item in value.items() for part in item)
        return f"{type(value).__name__} ({', '.join(self.text(item, names) for item in items)},)"

    def _function(self, function: FunctionType) -> str:
        held = vars(function)
        name = held.get("__tilewright_builtin__")
        if name is not None:
            if name in RUNS_PYTHON:
                raise Unclear(name)
            return f"builtin {name}"
        number = self._functions.get(function)
        if number is None:
            number = self._functions[function] = len(self._functions)
            names = frozenset(_names(function.__code__))
            if names & RUNS_PYTHON:
                raise Unclear(", ".join(names & RUNS_PYTHON))
            captured = self._items(captured_by(self._kernel, function), names)
            defaults = [self.text(function.__defaults__, names), *self._items(function.__kwdefaults__ or {}, names)]
            marks = self._items({name: value for name, value in held.items() if name not in _MARKS}, names)
            text = _lines(function)
            self.parts.append(repr((number, function.__qualname__, _code(function.__code__), text, captured, defaults,
                                    marks)))
        return f"function {number}"

    def _items(self, values: Mapping[str, Any], names: Names) -> list[str]:
        return [f"{name}: {self.text(value, names)}" for name, value in sorted(values.items())]

    def _module(self, module: ModuleType, names: Names) -> str:
        """A module by the attributes that may be asked for. Those of Python, of packages with a version, and of ours
        are known by the module's name, unless somebody has put numbers or functions there."""
        name, inside = module.__name__, vars(module)
        if (id(module), names) in self._modules:
            return f"module {name}"
        self._modules.add((id(module), names))
        package = name.partition(".")[0]
        named = [(key, inside[key]) for key in sorted(names) if key in inside]
        if package == OURS:
            found = [f"{key}: {self.text(value, names)}" for key, value in named if not _is_ours(value)]
            found += [text for _, value in named if type(value) is ModuleType and (text := self._module(value, names))]
        elif _is_standard(package) or package in FOREIGN:
            plain = (bool, int, float, str)
            found = [f"{key}: {self.text(value)}" for key, value in named if type(value) in plain]
            found.append(str(inside.get("__version__")))
        elif "__getattr__" in inside:
            raise Unclear(f"{name}.__getattr__")
        else:
            found = [f"{key}: {self.text(value, names)}" for key, value in named]
        # Modules of ours are loaded when they are used: that says nothing.
        return f"module {name} {found}" if package != OURS or any(found) else ""


def _names(code: CodeType) -> Iterator[str]:
    for each in codes_of(code):
        yield from each.co_names


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = [_code(item) if isinstance(item, CodeType) else _constant(item) for item in code.co_consts]
    return (code.co_name, code.co_code, code.co_flags, code.co_argcount, code.co_posonlyargcount,
            code.co_kwonlyargcount, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants)


def _constant(item: Any) -> str:
    if isinstance(item, tuple):
        return f"({', '.join(map(_constant, item))},)"
    if isinstance(item, frozenset):
        return f"frozenset{sorted(map(_constant, item))}"
    return f"{type(item).__name__} {item.hex() if isinstance(item, float) else item!r}"


def _lines(function: FunctionType) -> tuple[str, int, str]:
    """Where a function stands, and its lines, down to the next one that is indented no further. Error messages and
    asserts name the place."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first = code.co_firstlineno - 1
    if len(lines) <= first:
        raise Unclear(f"{code.co_filename}:{first + 1}")
    end = max(line or 0 for each in codes_of(code) for _, _, line in each.co_lines())
    margin = _indent(lines[first])
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > margin):
        end += 1
    return code.co_filename, first, "".join(lines[first:end])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_ours(value: Any) -> bool:
    """Whether a value comes with our sources. What wraps a function may wrap one of the user's."""
    if type(value) is FunctionType:
        held = vars(value)
        if held.get("__tilewright_builtin__") in RUNS_PYTHON:
            return False
        ours = str(value.__globals__.get("__name__")).partition(".")[0] == OURS
        return ours and ("__tilewright_builtin__" in held or value.__closure__ is None)
    if type(value) is ModuleType:
        return value.__name__.partition(".")[0] == OURS
    where = value.__module__ if isinstance(value, type) else type(value).__module__
    return str(where).partition(".")[0] == OURS


@functools.cache
def _is_standard(package: str) -> bool:
    """Whether this module is Python's own, and not one of the user's with such a name."""
    spec = getattr(sys.modules.get(package), "__spec__", None)
    origin = str(spec.origin) if spec is not None else ""
    library = os.path.dirname(os.__file__) + os.sep
    return package in sys.stdlib_module_names and (
        origin in ("built-in", "frozen") or (origin.startswith(library) and "site-packages" not in origin))


def _type(value: type) -> str:
    """A class that is known by its name."""
    package = value.__module__.partition(".")[0]
    if package not in (OURS, *FOREIGN) and not _is_standard(package):
        raise Unclear(f"class {value.__qualname__}")
    return f"type {value.__module__}.{value.__qualname__}"


def _foreign(value: Any, kind: type) -> str:
    """A dtype, number or function of another package; what no kernel can use; an option of ours."""
    package, name = kind.__module__.partition(".")[0], kind.__qualname__
    if isinstance(value, enum.Enum) and package == OURS:
        return f"{name}.{value.name}"
    if kind in _REFUSED or (package == OURS and name == "tile_kernel"):
        return f"a {name}"
    if package in FOREIGN:
        if name == "dtype" or name.endswith("DType"):
            return f"{package} {value}"
        if is_typed_number(value):
            return f"{package} {name} {value.tobytes()!r}"
        if name in _REFUSED_FOREIGN:
            return f"a {name}"
        if name in _NATIVE:
            return f"native {package} {getattr(value, '__name__', '')}"
    raise Unclear(f"{package} {name}")
