"""What `autotune` chooses from: configurations, each with values of a kernel's constants and of its hints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.options import KernelOptions

HINTS = frozenset(KernelOptions.__dataclass_fields__)


class Config(Mapping[str, Any]):
    """One configuration: a mapping from names to values, which can also be read as attributes (`config.tm`).

    Example:
        config = ct.tune.Config({"tm": 128, "num_ctas": 2})
        print(config, config.tm)  # tm=128, num_ctas=2 128
        config.tn  # AttributeError
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying and pickling ask before there are values
            raise AttributeError(name)
        if name not in self._values:
            raise AttributeError(f"the configuration ({self}) has no {name}")
        return self._values[name]

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def constants(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name not in HINTS}

    @property
    def hints(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name in HINTS}

    def __str__(self) -> str:
        return ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in self._values.items())

    def __repr__(self) -> str:
        return f"Config({self})"


def configurations(
    kernel: tile_kernel, configs: Iterable[Mapping[str, Any]] | None, space: Mapping[str, Sequence[Any]] | None,
    where: Callable[[Config], bool] | None,
) -> list[Config]:
    """All configurations of a list, or of the product of a space. Raises TypeError and ValueError for what a user got
    wrong: both or none of the two, names that the kernel does not have, nothing left."""
    if (configs is None) == (space is None):
        raise TypeError("autotune: give configs, a list of configurations, or space, the values of each name; one of "
                        "them")
    if configs is not None:
        found = [Config(_mapping(config)) for config in configs]
    else:
        assert space is not None
        values = {name: _values(name, given) for name, given in _mapping(space).items()}
        found = [Config(dict(zip(values, chosen, strict=True))) for chosen in itertools.product(*values.values())]
    for name in dict.fromkeys(name for config in found for name in config):
        _check_name(kernel, name)
    kept = [config for config in found if where is None or where(config)]
    if not kept:
        raise ValueError("autotune: there is no configuration"
                         f"{' left that `where` admits' if found else ' to choose from'}")
    return kept


def _mapping(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"autotune: a configuration maps names to values, such as {{'tm': 128}}; this is "
                        f"{type(given).__name__}")
    return given


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"autotune: the space needs several values of {name!r}, such as (64, 128), not {given!r}")
    return list(given)


def _check_name(kernel: tile_kernel, name: str) -> None:
    constants = {p.name for p in kernel.specialiser.params if p.constant}
    if name in constants or name in HINTS:
        return
    of = f"the Constant parameters of kernel {kernel.__name__} ({', '.join(sorted(constants)) or 'it has none'})"
    if name in {p.name for p in kernel.specialiser.params}:
        raise TypeError(f"autotune: {name!r} is a parameter that is known at run time only; annotate it as Constant")
    raise TypeError(f"autotune: {name!r} is none of {of}, and no hint ({', '.join(sorted(HINTS))})")
