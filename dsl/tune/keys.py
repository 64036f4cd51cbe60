"""Which launches share a choice: the same code, device and compiler, and extents of about the same size."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tilewright.arguments.bind import Argument, Const, arrays
from tilewright.arguments.checks import real
from tilewright.kernel import tile_kernel
from tilewright.tune.space import Config

INTERPRETER = "the interpreter"


def bucket(extent: int) -> int:
    """The next power of two: what is fastest for 4000 is taken for 4096 as well."""
    return 1 << (extent - 1).bit_length() if extent > 1 else extent


def choice_key(
    kernel: tile_kernel, arguments: Sequence[Argument], configs: Sequence[Config], names: Sequence[str] | None,
    where: str,
) -> tuple[str, str]:
    """A digest for the store, and for people what it stands for.

    `arguments`: bound with the default configuration, whose Tile IR stands for the source of the kernel, of all that it
    calls, and for the kinds of arguments. `names`: the dimensions and constants whose values decide; None: the extents
    of all arrays, rounded up to powers of two.
    """
    sizes = _sizes(arguments) if names is None else _named(kernel, arguments, names)
    chosen = frozenset(name for config in configs for name in config)
    given = {a.name: repr(a.value) for a in arguments if isinstance(a, Const) and a.name not in chosen}
    about = ", ".join([*sizes, *(f"{name}={value}" for name, value in given.items())])
    parts = [kernel.__name__, where, about, [str(config) for config in configs], _compiler(), _code(kernel, arguments)]
    return hashlib.sha256(repr(parts).encode()).hexdigest(), about


def place(ordinal: int | None) -> str:
    """The device in words: those of one name choose alike."""
    if ordinal is None:
        return INTERPRETER
    from tilewright.backend_ptx.runtime.driver import get_device

    device = get_device(ordinal)
    return f"{device.name}, {device.target.name}"


def _code(kernel: tile_kernel, arguments: Sequence[Argument]) -> str:
    from tilewright.tileir.printer import to_text

    return to_text(kernel.specialiser.tile_ir(arguments, facts=True))


def _compiler() -> str:
    from tilewright.backend_ptx.runtime.build import source_digest

    return source_digest()


def _sizes(arguments: Sequence[Argument]) -> list[str]:
    return [f"{name}: {dtype}[{','.join(str(bucket(extent)) for extent in shape)}]"
            for name, dtype, shape in _arrays(arguments)]


def _arrays(arguments: Sequence[Argument]) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(array.name, str(real(array).dtype), tuple(real(array).shape)) for array in arrays(arguments)]


def _named(kernel: tile_kernel, arguments: Sequence[Argument], names: Sequence[str]) -> list[str]:
    values: dict[str, Any] = dict(kernel.specialiser.dimensions.check(arguments))
    values |= {a.name: a.value for a in arguments if isinstance(a, Const)}
    for name in names:
        if name not in values:
            raise TypeError(f"autotune: key names {name!r}, which is no dimension and no Constant parameter of kernel "
                            f"{kernel.__name__}; there are {', '.join(sorted(values)) or 'none'}")
    return [f"{name}={values[name]}" for name in names]
