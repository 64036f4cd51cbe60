"""How a function of the library is declared: once, with its reference and its gradient.

A declared function takes arrays of any library. On tensors of torch it is an operator of torch, registered at its first
call; `out=` asks for the plain function.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from tilewright.kernels.checks import check_out
from tilewright.kernels.plans import planned
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tracebacks import public

P = ParamSpec("P")
R = TypeVar("R")
NAMESPACE = "tilewright"

# Every declared function by its name, in the order of declaration.
DECLARED: dict[str, LibraryFunction[..., Any]] = {}


class LibraryFunction(Generic[P, R]):
    """A function of the library.

    Attributes: `plain`, the function itself, which launches kernels; `reference`, the same on NumPy arrays, in
        float64; `backward`, the function that computes its gradients, or None; `operator`, the operator of torch.
    """

    __name__: str

    def __init__(
        self, function: Callable[P, R], reference: Callable[..., Any], backward: Callable[..., Any] | None,
        autocast: str | None = None, apart: tuple[str, ...] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.plain: Callable[P, R] = public(planned(function))
        self.reference = reference
        self.backward = backward
        self.autocast = autocast
        self.apart = apart
        self._operator: Any = None
        self._parameters = tuple(inspect.signature(function).parameters)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        # torch.compile traces this, so it asks in words that Dynamo knows.
        torch: Any = sys.modules.get("torch")
        for value in (*args, *named.values()) if torch is not None else ():
            if hasattr(torch, "library") and isinstance(value, torch.Tensor):
                result: R = self._on_tensors(args, named)
                return result
        if named.get("out") is not None:
            self._check_out(args, named)
        return self.plain(*args, **named)

    def _check_out(self, args: Any, named: Any) -> None:
        given = dict(zip(self._parameters, args)) | named  # noqa: B905  # what was left out is no array
        check_out(self.__name__, given.pop("out"), given, self.apart)

    def _on_tensors(self, args: Any, named: Any) -> Any:
        if named.get("out") is None:
            named.pop("out", None)
            return self.operator(*args, **named)
        torch = sys.modules["torch"]
        if torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in (*args, *named.values())):
            raise TileValueError(f"{self.__name__}: with out= no gradient is recorded, but an argument requires one",
                                 hints=["leave out= away, or call it under torch.no_grad()"])
        self._check_out(args, named)
        return self.plain(*args, **named)

    @property
    def operator(self) -> Any:
        """The operator of torch, tilewright::NAME. ImportError without torch."""
        if self._operator is None:
            self._operator = register(self.__name__, self.plain, self.backward, self.autocast)
        return self._operator


def register_all() -> None:
    """Register every declared function with torch. torch.compile cannot do so while it traces."""
    for function in DECLARED.values():
        function.operator  # noqa: B018  # asking for it makes it


def library_function(
    *, reference: Callable[..., Any], backward: Callable[..., Any] | None = None, autocast: str | None = None,
    apart: tuple[str, ...] = (),
) -> Callable[[Callable[P, R]], LibraryFunction[P, R]]:
    """Declare a function of the library. `reference` takes NumPy arrays in its place. `backward` is a function whose
    parameters are named after what they get (as those of `tw.torch.op`), and gives a gradient for each array.
    `autocast` is that of `tw.torch.op`. `apart`: arrays that `out` may not be, since several blocks read an element."""

    def declare(function: Callable[P, R]) -> LibraryFunction[P, R]:
        made = LibraryFunction(function, reference, backward, autocast, apart)
        DECLARED[made.__name__] = made
        return made

    return declare


def register(
    name: str, function: Callable[..., Any], backward: Callable[..., Any] | None, autocast: str | None = None,
) -> Any:
    """The operator of torch that a function of the library is: the same parameters, without `out`."""
    from tilewright.torch.definition import Options, define
    from tilewright.torch.transforms import refuse_gradient

    hints = get_type_hints(function, include_extras=True)
    params = [p.replace(annotation=as_tensors(hints[p.name])) for p in inspect.signature(function).parameters.values()
              if p.name != "out"]

    def run(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    run.__name__ = run.__qualname__ = name
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        params, return_annotation=as_tensors(hints["return"]))
    gradient = backward.operator if isinstance(backward, LibraryFunction) else backward
    made = define(f"{NAMESPACE}::{name}", run, Options(None, None, gradient, autocast, function))
    if gradient is None:
        why = ": gradients are not differentiated again" if name.endswith("_backward") else " here"
        refuse_gradient(made, why, function)
    return made


def as_tensors(hint: Any) -> Any:
    """An annotation with torch's Tensor in the place of an array."""
    import torch

    if get_origin(hint) is Annotated:
        return torch.Tensor
    items = tuple(as_tensors(item) for item in get_args(hint))
    if get_origin(hint) is tuple:
        return tuple.__class_getitem__(items)
    return items[0] | None if items and type(None) in items else hint
