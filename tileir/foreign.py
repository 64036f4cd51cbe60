"""Functions of other compilers, called element by element: which this process knows, and what executors ask.

An op names one by a word with the digest of its code and its meaning, so that the text of a function tells one from
another. A dump that is read in another process knows only those that are declared there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError
from tilewright.tileir.dtypes import DType


class ForeignFunction(Protocol):
    """A function of scalars of `operands` to one of `result`.

    `name` is unique, `label` the user's word. `reference` says what it means on NumPy arrays, None: nobody has said.
    """

    name: str
    label: str
    operands: tuple[DType, ...]
    result: DType
    reference: Callable[..., Any] | None

    def compute(self, *arrays: Any) -> Any:
        """Its meaning on arrays of the operands' dtypes; the result has that of the result."""

    def emit(self, builder: Any, *lanes: Any) -> Any:
        """A call for one element, by the builder of LLVM's text."""

    def called_by(self, llvm_text: str) -> bool:
        """Whether a module calls it."""

    def link(self, binding: Any, module: Any) -> None:
        """Put its code into a module of llvmlite that calls it."""

    def merge(self, ptx: str) -> str:
        """Put its code into PTX that calls it. TileUnsupportedFeatureError where that is for another target."""


KNOWN: dict[str, ForeignFunction] = {}


def declare(function: ForeignFunction) -> None:
    """Make a function known; one that is declared again is the newer one."""
    KNOWN[function.name] = function


def is_declared(value: Any) -> bool:
    """Whether an object is a declared function."""
    return hasattr(value, "called_by") and getattr(value, "name", None) in KNOWN


def known(name: str) -> ForeignFunction:
    found = KNOWN.get(name)
    if found is None:
        raise TileValueError(f"the function {name} of another compiler is not declared in this process",
                             hints=["import the module that declares it"])
    return found


def meaning(function: ForeignFunction) -> Callable[..., Any]:
    """What executors on the host compute; TileUnsupportedFeatureError where nobody has said."""
    if function.reference is None:
        raise TileUnsupportedFeatureError(
            f"{function.label} is code for a GPU, and nobody has said what it computes on NumPy arrays",
            hints=["declare it with reference=, a function of NumPy arrays"])
    return function.compute


def find(called: Callable[[ForeignFunction], bool]) -> ForeignFunction | None:
    return next(filter(called, KNOWN.values()), None)


def linked(binding: Any, module: Any, llvm_text: str) -> bool:
    """Put the code of all functions that a module calls into it; whether there are such."""
    functions = used(llvm_text)
    for function in functions:
        function.link(binding, module)
    return bool(functions)


def merged(ptx: str, llvm_text: str) -> str:
    """The same of PTX."""
    for function in used(llvm_text):
        ptx = function.merge(ptx)
    return ptx


def used(llvm_text: str) -> Sequence[ForeignFunction]:
    return [function for function in KNOWN.values() if function.called_by(llvm_text)]
