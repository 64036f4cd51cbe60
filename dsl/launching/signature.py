"""What tells the launches of one kernel apart, in well under a microsecond an argument: no array is kept alive."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

from tilewright.arguments.arrays import HOST, ArrayInfo, is_torch
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, Tuple
from tilewright.arguments.checks import common_device
from tilewright.arguments.dlpack import row_major
from tilewright.arguments.spec import Spec
from tilewright.launching import launcher as launching

WELL_ALIGNED = 256

Reader = Callable[[Any], Hashable]


class _Readers(dict[type, Reader]):
    """By the type of an argument."""

    def __missing__(self, kind: type) -> Reader:
        found = self[kind] = _reader(kind)
        return found


def _reader(kind: type) -> Reader:
    if issubclass(kind, float):  # as good as never decides what a launch accesses, and may be another one each time
        return lambda value: "float"
    if issubclass(kind, (int, str, type(None))):
        return _itself
    if issubclass(kind, (list, tuple)):
        return signature
    if is_torch(kind):
        facts = attrgetter("dtype", "shape")
        return lambda array: (facts(array), array.stride())
    for names in (("dtype", "shape", "strides"), ("dtype", "shape")):
        if all(hasattr(kind, name) for name in names):
            return attrgetter(*names)
    return lambda other: id(kind)


def _itself(value: Any) -> Hashable:
    return value  # type: ignore[no-any-return]


READERS = _Readers()


def signature(args: Any) -> Hashable:
    """A key of these arguments: dtypes, extents and strides of arrays, and the values of integers."""
    return tuple([READERS[type(arg)](arg) for arg in args])


def as_specs(argument: Argument) -> Any:
    """An argument with a spec in the place of each array, from which it can be bound again."""
    match argument:
        case Const() | Scalar():
            return argument.value
        case Tuple():
            items = [as_specs(item) for item in argument.items]
            return tuple(items) if argument.kind is tuple else argument.kind(*items)
        case ArrayList():
            return [as_specs(item) for item in argument.items]
        case ArrayArgument():
            return _spec(argument.info) if isinstance(argument.info, ArrayInfo) else argument.info
    raise AssertionError(f"{argument} is no argument")


def _spec(info: ArrayInfo) -> Spec:
    strides = None if tuple(info.strides) == row_major(info.shape) else tuple(info.strides)
    align = min(WELL_ALIGNED, info.pointer & -info.pointer) if info.pointer else WELL_ALIGNED
    return Spec(info.dtype, tuple(info.shape), strides, max(align, info.dtype.bytes))


def shown(value: Any) -> str:
    """An argument as --args of the command line takes it, without the alignment."""
    if isinstance(value, Spec):
        return str(Spec(value.dtype, value.extents, value.strides))
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return getattr(value, "__name__", None) or repr(value)


def device_of(arguments: Sequence[Argument]) -> int | None:
    """The GPU that a launch with these arguments runs on; None for the interpreter."""
    device = common_device(arguments)
    if device is None or device == HOST or launching.FORCE_INTERPRETER or launching.CHECKED is not None:
        return None
    return device


def described(launcher: Any, args: tuple[Any, ...]) -> tuple[str, str]:
    """The arguments of a launch in words, and who runs it; "?" where they do not fit the kernel."""
    try:
        arguments = launcher._specialiser.bind(launcher.call.complete(args, {}))
        device = device_of(arguments)
    except Exception:  # the launch itself says what is wrong
        return "?", "?"
    return ", ".join(shown(as_specs(a)) for a in arguments), "the interpreter" if device is None else f"GPU {device}"
