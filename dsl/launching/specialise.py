"""A kernel's specialisations: each made once per key, also when many threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.arguments.bind import Argument, bind
from tilewright.arguments.call import CallSignature
from tilewright.arguments.dimensions import Dimensions
from tilewright.arguments.sharing import find_aliases, near
from tilewright.launching.sources import Source
from tilewright.launching.timeouts import limited
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.plan import NO_ALIASES, Aliases

if TYPE_CHECKING:
    from tilewright.inspecting.dumps import Dump
    from tilewright.tileir.core import Function

T = TypeVar("T")
Observer = Callable[[str, "Function"], None]


class Once:
    """A table of values by key, each made by the first who asks; others with the same key wait, the rest does not."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._making: dict[Hashable, threading.RLock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        value: T | None = self._values.get(key)
        if value is not None:
            return value
        with self._guard:
            lock = self._making.setdefault(key, threading.RLock())
        with lock:
            value = self._values.get(key)
            if value is None:
                # A failure leaves no trace: the next launch tries again and fails with the same message.
                value = self._values[key] = make()
            with self._guard:
                self._making.pop(key, None)
        return value

    def __len__(self) -> int:
        return len(self._values)


class Specialiser:
    """One kernel's source, its parameters and hints: binds arguments, and makes the Tile IR for them."""

    def __init__(
        self, source: Source, hints: KernelOptions, rules: LaunchRules, joins: tuple[int, ...] = (),
    ) -> None:
        self.source = source
        self.name = source.name
        self.params = source.params
        self.call = CallSignature(source.parameters, self.name)
        self.hints = hints
        self.rules = rules
        self.joins = joins
        self.dimensions = Dimensions(self.params, rules.grid, self.name)
        self._functions = Once()

    def with_ctas(self, count: int) -> Specialiser:
        """Of the same kernel, with the hint that so many CTAs compute each block."""
        return Specialiser(self.source, replace(self.hints, num_ctas=count), self.rules)

    def joined(self, counts: tuple[int, ...]) -> Specialiser:
        """Of the same kernel, so many blocks of each axis of the grid joined to one."""
        return Specialiser(self.source, self.hints, self.rules, counts)

    def bind(self, args: Sequence[Any]) -> list[Argument]:
        """The arguments, one for each parameter, matched with these; raises what a launch raises for those that do not
        fit."""
        self.call.check_count(args)
        arguments = bind(self.params, args)
        if self.dimensions.any:
            self.dimensions.check(arguments)
        self.source.check(arguments)
        return arguments

    def aliases(self, arguments: Sequence[Argument], *, facts: bool) -> Aliases:
        """Which arguments share memory with an output; ValueError for two outputs that overlap without being equal."""
        if not near(arguments):
            return NO_ALIASES
        return find_aliases(arguments, self.outputs(arguments, facts=facts))

    def outputs(self, arguments: Sequence[Argument], *, facts: bool) -> frozenset[int]:
        """The positions of the parameters through whose names the kernel writes, of whatever they share memory with."""
        from tilewright.tileir.analysis.effects import written_arrays

        return limited(self.name, lambda: written_arrays(self.tile_ir(arguments, facts=facts)))

    def tile_ir(self, arguments: Sequence[Argument], *, facts: bool, aliases: Aliases = NO_ALIASES) -> Function:
        """The Tile IR after all passes; the same object for the same specialisation, so do not change it.

        `facts`: specialise on alignment, divisibility and unit strides too, as the GPU does.
        """
        key = facts, aliases, tuple(argument.key(facts) for argument in arguments)
        return self._functions.get(key, lambda: self.make_tile_ir(arguments, facts=facts, aliases=aliases))

    def make_tile_ir(
        self, arguments: Sequence[Argument], *, facts: bool, aliases: Aliases = NO_ALIASES, dump: Dump | None = None,
        observer: Observer | None = None,
    ) -> Function:
        """The same, made anew; `dump` and `observer` see each stage."""
        from tilewright.tileir.analysis.determinism import check_deterministic
        from tilewright.tileir.analysis.negative_indices import check_indices
        from tilewright.tileir.analysis.unit import Unit
        from tilewright.tileir.passes import run_pipeline
        from tilewright.tileir.passes.join_blocks import join_all

        watching = [see for see in (dump.function if dump is not None else None, observer) if see is not None]

        def look(name: str, now: Function) -> None:
            for see in watching:
                see(name, now)

        function = self.translate(arguments, facts=facts, aliases=aliases)
        look("frontend", function)
        try:
            run_pipeline(function, observer=look if watching else None)
            if self.joins:
                join_all(Unit(function), self.joins)
        except TileError:
            raise
        except Exception as error:
            raise internal_error(f"the passes over kernel {self.name}", error) from error
        check_indices(function)
        if self.rules.deterministic:
            check_deterministic(function)
        if dump is not None:
            dump.finished(function)
        return function

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, aliases: Aliases = NO_ALIASES, debug: bool = False
    ) -> Function:
        """The Tile IR as the kernel's source makes it, before any pass; with `debug`, marked for a debugger."""
        try:
            return self.source.translate(
                arguments, facts=facts, hints=self.hints.resolve(""), aliases=aliases, debug=debug)
        except TileError:
            raise
        except RecursionError:
            raise
        except Exception as error:
            raise internal_error(f"the translation of kernel {self.name}", error) from error


def internal_error(what: str, error: Exception) -> TileInternalError:
    return TileInternalError(
        f"{what} failed: {type(error).__name__}: {error}",
        hints=["this is a defect of Tilewright; set TILEWRIGHT_DUMP_DIR=folder to write every stage there, and report "
               "it with those files"])
