"""`autotune`: a kernel that chooses among configurations at the first launch of each size, and remembers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.launching import shipped
from tilewright.launching.grid import make_grid
from tilewright.launching.signature import signature
from tilewright.tracebacks import public
from tilewright.tune import stored
from tilewright.tune.candidates import Candidate
from tilewright.tune.choosing import TIMINGS, How, Timer, Tuning
from tilewright.tune.keys import choice_key, place
from tilewright.tune.orders import order_of
from tilewright.tune.place import gpu_of
from tilewright.tune.results import TuningResult
from tilewright.tune.space import Config, configurations

NO_TUNE = "TILEWRIGHT_NO_TUNE"
MAX_LAUNCHES = 4096  # kinds of arguments whose choice is found at once


class Autotuned:
    """A kernel with configurations to choose from; what `autotune` makes. It is called and launched like the kernel,
    without what the configurations give.

    Attributes: `kernel`, the kernel; `configs`, all configurations, the default first; `result`, the TuningResult of
        the last search (None before); `choices`, by the key that the store has for them.

    Example:
        @ct.autotune([{"tile": 64, "num_worker_warps": 4}, {"tile": 128}])
        @ct.tile_kernel
        def double(x, tile: ct.Constant[int]):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, tile) * 2.0)

        x = np.ones(1000, np.float32)
        double[lambda config: ct.cdiv(1000, config.tile)](x)
        print(x.sum(), len(double.configs), double.result)  # 2000.0 2 None
        double(x)  # TypeError
    """

    def __init__(
        self, kernel: tile_kernel, configs: Sequence[Config], key: Sequence[str] | None, same_numerics: bool,
        broadcast: Callable[[int], int] | None, how: How,
    ) -> None:
        self.kernel = kernel
        self.configs = tuple(configs)
        self.result: TuningResult[Config] | None = None
        self.choices: dict[str, Config] = {}
        self.__name__, self.__doc__, self.__wrapped__ = kernel.__name__, kernel.__doc__, kernel.__wrapped__
        self._key, self._same_numerics, self._broadcast, self._how = key, same_numerics, broadcast, how
        self._names = [p.name for p in kernel.specialiser.params]
        self._hinted: dict[str, tile_kernel] = {}
        self._launches: dict[Any, tuple[tile_kernel, dict[str, Any], Config]] = {}
        self._lock = threading.RLock()

    @public
    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch over the grid that the kernel's decorator gives, with the configuration chosen for these arguments."""
        if not self.kernel.specialiser.dimensions.has_grid:
            raise TypeError(f"kernel {self.__name__} cannot be called directly; launch it over a grid, which may "
                            f"depend on the configuration: {self.__name__}[lambda config: (...)](...)")
        self._launch(None, args, named, stream)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """The launch over a grid: as of a kernel, or a function that gives it for a configuration."""
        @public
        def launch(*args: Any, stream: Any = None, **named: Any) -> None:
            self._launch(grid, args, named, stream)

        return launch

    @public
    def choose(self, *args: Any, grid: Any = None, stream: Any = None, **named: Any) -> Config:
        """The configuration for these arguments, without a launch; it is searched for where none is known."""
        return self._chosen(grid, args, named, stream)

    def __repr__(self) -> str:
        return f"<autotuned {self.kernel!r}, {len(self.configs)} configurations>"

    # ---- launching

    def _launch(self, grid: Any, args: tuple[Any, ...], named: dict[str, Any], stream: Any) -> None:
        key = signature(args), tuple(named), signature(tuple(named.values()))
        found = self._launches.get(key)
        if found is None:
            config = self._chosen(grid, args, named, stream)
            given = self._given(args, named)
            constants = {name: value for name, value in config.constants.items() if name not in given}
            if len(self._launches) >= MAX_LAUNCHES:
                self._launches.clear()
            found = self._launches[key] = self._with_hints(config), constants, config
        kernel, constants, config = found
        size = grid(config) if callable(grid) else grid  # often a new function for each launch
        (kernel if size is None else kernel[size])(*args, **named, **constants, stream=stream)

    def _given(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name."""
        return {**dict(zip(self._names, args, strict=False)), **named}

    def _with_hints(self, config: Config) -> tile_kernel:
        """The kernel with a configuration's hints; those of the same hints share one, and its code."""
        hints = config.hints
        key = repr(sorted(hints.items(), key=str))
        found = self._hinted.get(key)
        if found is None:
            found = self.kernel.replace_hints(**hints) if hints else self.kernel
            self._hinted[key] = found
        return found

    # ---- choosing

    def _chosen(self, grid: Any, args: tuple[Any, ...], named: Mapping[str, Any], stream: Any) -> Config:
        given = self._given(args, named)
        configs = [config for config in self.configs
                   if all(given.get(name, value) == value for name, value in config.constants.items())]
        if not configs:
            names = dict.fromkeys(name for config in self.configs for name in config if name in given)
            wanted = ", ".join(f"{name}={given[name]!r}" for name in names)
            raise ValueError(f"kernel {self.__name__}: no configuration has {wanted}; leave it out, and one is chosen")

        def complete(config: Config) -> tuple[Any, ...]:
            missing = {name: value for name, value in config.constants.items() if name not in given}
            return self.kernel.specialiser.call.complete(args, {**named, **missing})

        default = complete(configs[0])
        arguments = self.kernel.specialiser.bind(default)
        if self._same_numerics:
            wanted_order = order_of(self.kernel, default, configs[0])
            configs = [c for c in configs if order_of(self.kernel, complete(c), c) == wanted_order]
        gpu = gpu_of(arguments, stream)
        digest, about = choice_key(self.kernel, arguments, configs, self._key, f"{place(gpu)}, {self._how.timing}")
        with self._lock:
            known = self.choices.get(digest)
            if known is None:
                known = stored.load(digest, configs)
            if known is None:
                known = self._found(configs, grid, complete, gpu, stream, digest, about)
            if self._broadcast is not None and digest not in self.choices:
                known = configs[self._broadcast(configs.index(known))]
            self.choices[digest] = known
        return known

    def _found(
        self, configs: list[Config], grid: Any, complete: Callable[[Config], tuple[Any, ...]], gpu: int | None,
        stream: Any, digest: str, about: str,
    ) -> Config:
        """The result of a search; the default where timing is forbidden, or says nothing, as in the interpreter."""
        forbidden = os.environ.get(NO_TUNE, "0").lower() not in ("", "0", "off", "false") or shipped.forbidden()
        if forbidden or len(configs) == 1 or (gpu is None and self._how.timer is None):
            return configs[0]

        def make(config: Config) -> Candidate:
            kernel, full = self._with_hints(config), complete(config)
            specialiser = kernel.specialiser
            size = grid(config) if callable(grid) else grid
            if size is None:
                size = specialiser.dimensions.grid(full, lambda: specialiser.bind(full))
            return Candidate(config, kernel, make_grid(size if isinstance(size, (tuple, list)) else (size,)), full)

        self.result = Tuning(self._how, stream).run(configs, make)
        best = self.result.best
        if not self._how.quiet:
            print(self.result)
        stored.store(digest, configs, best.config, {
            "kernel": self.__name__, "for": about, "on": place(gpu), "us": round(best.mean_us, 3),
            "tried": len(self.result.successes)})
        return best.config


@public
def autotune(
    configs: Iterable[Mapping[str, Any]] | None = None, *, space: Mapping[str, Sequence[Any]] | None = None,
    where: Callable[[Config], bool] | None = None, key: Sequence[str] | None = None, same_numerics: bool = False,
    timing: str = "cold", timer: Timer | None = None, timeout: float | None = None, seconds: float | None = None,
    broadcast: Callable[[int], int] | None = None, quiet: bool = True,
) -> Callable[[tile_kernel], Autotuned]:
    """Choose constants and hints of a kernel by timing: `@ct.autotune(configs)` above `@ct.tile_kernel`.

    The first launch with arguments of a new size compiles all configurations side by side, times them and keeps the
    fastest, in the disk cache too; where a run takes long, those that cannot win by the roofline are not timed. Later
    launches of that size, and later processes, take it from there. A search leaves arrays as they were. In the
    interpreter nothing is timed: it takes the default, which is the first configuration.

    Arguments: `configs`, mappings from names of Constant parameters and of hints to values; or `space`, the values of
        each name, of which all combinations are meant that `where` admits. What a launch gives is not chosen.
    Options: `key`, names of dimensions and constants whose values a choice is made for; by default the extents of all
        arrays, rounded up to powers of two. `same_numerics=True` keeps to configurations that add in the order of the
        default, so that a choice changes no bit. `timing`, "cold" (each run with an empty L2 cache) or "graph" (many
        launches in a CUDA graph, as in a program that replays one); `timer`, a function that is given a function that
        launches once, and returns a time, in place of both. `timeout`: seconds of one run, for kernels that may hang:
        they are timed in another process. `seconds`: of the whole search, after which the best so far is taken.
        `broadcast`: a function from the number of a configuration to the number that all ranks take. `quiet=False`
        prints a table.
    Result: an Autotuned.
    Errors: TypeError for names that the kernel does not have; ValueError where nothing is left to choose from, and at a
        launch where no configuration runs.

    `TILEWRIGHT_NO_TUNE=1` forbids timing: a stored choice is taken, else the default. `TILEWRIGHT_TUNE_FILE` names a
    file of choices in place of the disk cache, for many machines.

    Example:
        @ct.autotune(space={"tile": (64, 128, 256)})
        @ct.tile_kernel(grid="cdiv(N, tile)")
        def double(x: ct.Array["N"], out: ct.Array["N"], tile: ct.Constant[int]):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, tile) * 2.0)

        x = np.ones(1000, np.float32)
        out = np.zeros_like(x)
        double(x, out)
        print(out.sum(), double.choose(x, out))  # 2000.0 tile=64
        double(x, out, tile=100)  # ValueError
        ct.autotune(space={"tiles": (64, 128)})(double.kernel)  # TypeError
    """
    if timing not in TIMINGS:
        raise ValueError(f"autotune: timing must be {' or '.join(map(repr, TIMINGS))}, not {timing!r}")
    if isinstance(key, str):
        key = (key,)
    how = How(timing, timer, timeout, seconds, quiet)

    def wrap(kernel: tile_kernel) -> Autotuned:
        if not isinstance(kernel, tile_kernel):
            raise TypeError("autotune: it decorates a kernel, so it stands above @tile_kernel; this is a "
                            f"{type(kernel).__name__}")
        return Autotuned(kernel, configurations(kernel, configs, space, where), key, same_numerics, broadcast, how)

    return public(wrap)
