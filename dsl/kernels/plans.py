"""What a function of the library did for tensors of one kind, to do it again without deciding anything: allocations,
views and launches, in their order.

Grids, tiles and checks of such a function follow from what a plan's key holds: shapes, strides, dtypes and devices of
tensors, and which of them are one, and all other arguments by value. A function whose arguments or results are of
another kind, or which makes tensors in ways that are not noted here, has no plan. What a function does to tensors
beside launches and what it has noted would be left out: there is no such.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.arguments.arrays import is_torch
from tilewright.arguments.constants import constant_key
from tilewright.launching.tracing import is_recording
from tilewright.tileir.dtypes import DType

_MOST = 1024  # keys of one function
_VALUES = (bool, int, str, type(None), DType)


class _NotedStep(NamedTuple):
    """A call of `given`, with tensors by their numbers in `places`. Its result, if it is kept, gets the next number."""

    call: Callable[..., Any]
    given: tuple[Any, ...]
    places: tuple[tuple[int, int], ...]
    kept: bool


class Repetition(NamedTuple):
    """All steps, and the result: the number of a tensor, None, or a tuple of these."""

    steps: tuple[_NotedStep, ...]
    result: int | tuple[int | None, ...] | None

    def run(self, tensors: list[Any]) -> Any:
        """The function's result for tensors of this plan's kind, to which it adds what it makes."""
        for call, given, places, kept in self.steps:
            if places:
                args = list(given)
                for place, number in places:
                    args[place] = tensors[number]
                made = call(*args)
            else:
                made = call(*given)
            if kept:
                tensors.append(made)
        result = self.result
        if type(result) is tuple:
            return tuple(None if number is None else tensors[number] for number in result)
        return None if result is None else tensors[result]  # type: ignore[index]


class _NotNoted(Exception):
    """A tensor that no step has made."""


class _CallNotes:
    """The steps of a call that runs."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = list(tensors)  # they live until the call ends, so that their ids are theirs
        self.numbers: dict[int, int] = {id(tensor): k for k, tensor in reversed(list(enumerate(tensors)))}
        self.steps: list[_NotedStep] = []
        self.complete = True

    def add(self, call: Callable[..., Any], args: Sequence[Any], made: Any = None) -> None:
        try:
            places = tuple((k, self.number(arg)) for k, arg in enumerate(args) if _holds_tensors(arg))
        except _NotNoted:
            self.complete = False
            return
        given = tuple(None if _holds_tensors(arg) else arg for arg in args)
        self.steps.append(_NotedStep(call, given, places, made is not None))
        if made is not None:
            self.numbers[id(made)] = len(self.tensors)
            self.tensors.append(made)

    def number(self, tensor: Any) -> int:
        found = self.numbers.get(id(tensor))
        if found is None:
            raise _NotNoted
        return found

    def plan(self, result: Any) -> Repetition | None:
        try:
            if type(result) is tuple:
                return self._plan(tuple(None if each is None else self.number(each) for each in result))
            return self._plan(None if result is None else self.number(result))
        except _NotNoted:
            return None

    def _plan(self, result: Any) -> Repetition | None:
        return Repetition(tuple(self.steps), result) if self.complete else None


class _NotingThread(threading.local):
    notes: _CallNotes | None = None


_CURRENT = _NotingThread()


def noted(call: Callable[..., Any], *args: Any) -> Any:
    """The tensor that a call makes of these arguments."""
    made = call(*args)
    if _CURRENT.notes is not None:
        _CURRENT.notes.add(call, args, made)
    return made


def note_launch(launch: Callable[..., Any], args: Sequence[Any]) -> None:
    """A launch of a kernel over a grid with these arguments."""
    if _CURRENT.notes is not None:
        _CURRENT.notes.add(launch, args)


def _holds_tensors(arg: Any) -> bool:
    if type(arg) in (list, tuple):
        return any(map(_holds_tensors, arg))
    return is_torch(type(arg))


def planned(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which for tensors of a kind that it was called with twice runs the plan of the second call."""
    plans: dict[Any, Repetition | None] = {}
    seen: set[Any] = set()

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        torch = sys.modules.get("torch")
        tensors: list[Any] = []
        key = None if torch is None else _key(torch, (*args, *named.values()) if named else args, tensors)
        if key is None or _CURRENT.notes is not None or is_recording():
            return function(*args, **named)
        key = key, tuple(named)
        plan = plans.get(key)
        if plan is not None:
            return plan.run(tensors)
        if key in plans or key not in seen:
            _remember(seen, key)
            return function(*args, **named)
        _CURRENT.notes = notes = _CallNotes(tensors)
        try:
            result = function(*args, **named)
        finally:
            _CURRENT.notes = None
        if len(plans) >= _MOST:
            plans.clear()
        plans[key] = notes.plan(result)
        return result

    run.plans = plans  # type: ignore[attr-defined]
    return run


def _remember(seen: set[Any], key: Any) -> None:
    if len(seen) >= _MOST:
        seen.clear()
    seen.add(key)


def _key(torch: Any, args: Sequence[Any], tensors: list[Any]) -> Any:
    """What a plan hangs on; None for arguments that have none. `tensors` gets those among them."""
    plain, parameter = torch.Tensor, torch.nn.Parameter
    key: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is plain or kind is parameter:
            tensors.append(arg)
            key += (arg.shape, arg.stride(), arg.dtype, arg.device)
        elif kind in _VALUES:
            key += (kind, arg)
        elif kind is float or (kind is tuple and not _holds_tensors(arg)):
            key.append(constant_key(arg))
        else:
            return None
    if len(set(map(id, tensors))) < len(tensors):  # a plan cannot tell an output from an input that it was
        key.append(tuple(next(k for k, other in enumerate(tensors) if other is one) for one in tensors))
    return tuple(key) if tensors else None
