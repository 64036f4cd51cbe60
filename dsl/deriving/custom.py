"""Backward kernels that a user wrote: registered with `kernel.defvjp`, given by `grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tilewright.deriving.roles import Roles, roles_of

K = TypeVar("K")
_KEPT = "_backwards"


def registering(kernel: Any, wrt: object, outputs: object) -> Callable[[K], K]:
    """The decorator that makes a kernel the backward of another for these names."""
    names = tuple(p.name for p in kernel.specialiser.params)
    roles = roles_of(kernel.__name__, names, wrt, outputs, ())

    def register(backward: Any) -> Any:
        specialiser = getattr(backward, "specialiser", None)
        if specialiser is None:
            raise TypeError(f"defvjp: the backward must be made with @tile_kernel, not {type(backward).__name__}")
        given = tuple(p.name for p in specialiser.params)
        if given != roles.parameters:
            raise ValueError(f"defvjp: the backward of kernel {kernel.__name__} must have the parameters "
                             f"{', '.join(roles.parameters)}; {backward.__name__} has {', '.join(given)}")
        vars(kernel).setdefault(_KEPT, {})[roles.wrt, roles.outputs] = backward
        return backward

    return register


def backward_of(kernel: Any, roles: Roles) -> Any:
    """The backward that a user has given for these names; None if there is none."""
    return vars(kernel).get(_KEPT, {}).get((roles.wrt, roles.outputs))
