"""Which binary of a bundle serves a launch: of those that run on the device and fit its arguments, the most special."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arguments.bind import Argument, Const, Scalar, Tuple
from tilewright.arguments.constants import constant_key
from tilewright.arguments.promised import check_promised
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.compilation.manifest import Binary, CodeFile
from tilewright.launching.shipped import Wanted
from tilewright.tileir.plan import NO_ALIASES
from tilewright.tileir.types import ArrayType, ListType


def runs_on(code: CodeFile, target: Target) -> bool:
    """Whether a file's code runs on devices of a target: machine code on those of its major version, PTX on later ones
    too, and what is for an exact target on that alone."""
    own = get_target(code.target)
    if own.exact:
        return own.capability == target.capability
    return own.capability <= target.capability and (code.format == "ptx" or own.capability[0] == target.capability[0])


def rank(binary: Binary, code: CodeFile) -> tuple[int, int, int]:
    """What is tried first: code for newer devices, machine code, and what relies on more."""
    major, minor = get_target(code.target).capability
    return 10 * major + minor, int(code.format == "cubin"), sum(map(_promises, binary.arguments))


def _promises(argument: Any) -> int:
    """How much an argument promises: the bits of what is known of it."""
    if isinstance(argument, Tuple):
        return sum(map(_promises, argument.items))
    if isinstance(argument, (Const, Scalar)):
        return 0
    known = argument.type(True)
    array: ArrayType = known.element if isinstance(known, ListType) else known
    constants = sum(64 for value in (*array.extents, *array.strides) if value is not None)
    divisors = sum(divisor.bit_length() - 1 for divisor in (*array.extent_div, *array.stride_div, array.align))
    return constants + divisors + 8 * (array.disjoint + array.small)


def complaint(binary: Binary, code: CodeFile, wanted: Wanted) -> str | None:
    """Why a binary does not serve a launch; None where it does."""
    if not runs_on(code, wanted.device.target):
        return f"it is for {code.target}"
    if binary.abi.linear_grid != wanted.linear and not binary.looped:
        return "it is for grids of at most 65535 blocks along y and z"
    if wanted.aliases not in (NO_ALIASES, binary.aliases) or (binary.aliases.same and wanted.aliases != binary.aliases):
        return "it is for arguments that share memory in another way, or not at all"
    if len(binary.arguments) != len(wanted.arguments):
        return f"it takes {len(binary.arguments)} arguments"
    return next(filter(None, map(_unlike, wanted.arguments, binary.arguments)), None)


def _unlike(given: Argument, known: Any) -> str | None:
    if isinstance(known, Const):
        if isinstance(given, Const) and constant_key(given.value) == constant_key(known.value):
            return None
        return f"argument {given.name!r} must be the constant {known.value!r}, as in the bundle's code"
    if isinstance(known, Tuple):
        if not isinstance(given, Tuple) or given.kind is not known.kind or len(given.items) != len(known.items):
            return f"argument {given.name!r} must be a tuple of {len(known.items)}, as in the bundle's code"
        return next(filter(None, map(_unlike, given.items, known.items)), None)
    try:
        check_promised(given, known.type(True), "the bundle's code")
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def named(binary: Binary, code: Sequence[CodeFile]) -> str:
    return f"{binary.symbol} for {code[binary.code].target}"
