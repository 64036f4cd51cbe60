"""Where launches look for compiled code before they compile: bundles that are loaded, and whether compiling is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, Tuple
from tilewright.arguments.spec import row_major_steps
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.environment import switched_on
from tilewright.tileir.plan import Aliases

NO_JIT = "TILEWRIGHT_NO_JIT"


class Wanted(NamedTuple):
    """What a launch needs code for."""

    specialiser: Any
    arguments: Sequence[Argument]
    linear: bool
    device: Any
    aliases: Aliases


class Found(NamedTuple):
    """Code: a DeviceKernel, and the parameters that it writes by their own name."""

    kernel: Any
    written: frozenset[int]


class Shipment(Protocol):
    """Where compiled code may be."""

    def find(self, wanted: Wanted) -> Found | None:
        """The code for a launch, if it is here."""

    def reasons(self, wanted: Wanted) -> list[str]:
        """Why what is here does not do, one for each binary of the kernel."""


LOADED: list[Shipment] = []
"""Looked through in order."""


def find(wanted: Wanted) -> Found | None:
    """Code for a launch that was compiled before; None where it is to be compiled now.

    TileUnsupportedFeatureError where the launch must not compile: TILEWRIGHT_NO_JIT says so, or the kernel has no
    source.
    """
    own = getattr(wanted.specialiser.source, "shipment", None)
    places = LOADED if own is None else [own]
    found = next(filter(None, (place.find(wanted) for place in places)), None)
    if found is None and (own is not None or forbidden()):
        raise _missing(wanted, places, own is not None)
    return found


def forbidden() -> bool:
    """Whether TILEWRIGHT_NO_JIT forbids launches to compile."""
    return switched_on("TILEWRIGHT_NO_JIT")


def _missing(wanted: Wanted, places: Sequence[Shipment], sourceless: bool) -> TileUnsupportedFeatureError:
    name, target = wanted.specialiser.name, wanted.device.target.name
    signature = f"{name}({', '.join(map(described, wanted.arguments))})"
    because = "the bundle has no source of it" if sourceless else f"{NO_JIT} forbids compiling"
    reasons = [reason for place in places for reason in place.reasons(wanted)]
    if not places:
        reasons = ["no bundle is loaded"]
    return TileUnsupportedFeatureError(
        f"there is no code for {signature} on {target}, and {because}", notes=reasons[:8],
        hints=["add this signature to the spec of the bundle, and build it anew; tilewright build --record SCRIPT.py "
               "-o SPEC.py writes down what a run launches"])


def described(argument: Argument) -> str:
    """An argument as the spec of a bundle spells it."""
    return f"{argument.name}={spelled(argument)}"


def spelled(argument: Argument) -> str:
    if isinstance(argument, Const):
        return repr(argument.value)
    if isinstance(argument, Scalar):
        return argument.dtype.ir
    if isinstance(argument, Tuple):
        return f"({', '.join(map(spelled, argument.items))}{',' * (len(argument.items) == 1)})"
    if isinstance(argument, ArrayList):
        return f"[{', '.join(map(spelled, argument.items))}]"
    assert isinstance(argument, ArrayArgument)
    info = argument.info
    if not isinstance(info, ArrayInfo):
        return str(info)
    text = f"{info.dtype.ir}[{','.join(map(str, info.shape))}]"
    if info.strides != row_major_steps(info.shape):
        text += f" strides=[{','.join(map(str, info.strides))}]"
    align = info.pointer & -info.pointer
    return text if not info.pointer or align >= 16 else f"{text} align={align}"
