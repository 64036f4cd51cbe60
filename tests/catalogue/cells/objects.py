"""Cells of dataclasses, enums and context managers."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.features import Feature, feature_batches, registering
from catalogue.cells.model import Batch

import tilewright as ct

FEATURES: list[Feature] = []
feature = registering(FEATURES)


# -- Dataclasses, enums, context managers ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 2

    def scaled(self, by):
        return Point(self.x * by, self.y)

    @property
    def total(self):
        return self.x + self.y

    @staticmethod
    def start(x):
        return Point(x)

    @classmethod
    def both(cls, x):
        return cls(x, x)

    def __call__(self, z):
        return self.x - z

    def __getitem__(self, k):
        return self.x if k == 0 else self.y


ORIGIN = Point(5, 6)


@feature("dataclass construction", "dataclass field", "dataclass method", "dataclass property",
         "dataclass static method", "dataclass class method", "dataclass __call__", "dataclass __getitem__",
         "dataclasses.replace", "captured dataclass")
def dataclass(b, t):
    p = Point(t, b).scaled(3)
    q = dataclasses.replace(p, y=10)
    return p.total + q.total + q(4) + q[1] + ORIGIN.x + Point.start(b).y + Point.both(t).y


class Pair(NamedTuple):
    low: Any
    high: Any = 5

    def ordered(self):
        return Pair(min(self), max(self))


@feature("named tuple construction", "named tuple method", "namedtuple._replace", "dataclass ==")
def named_tuples(b, t):
    p = Pair(b * 3).ordered()
    for i in range(2):
        p = p._replace(low=p.low - i)
    return t * p.low + p[1] + (1 if Point(b, 2) == Point(1, 2) else 0)


@dataclasses.dataclass(frozen=True)
class Slot:
    array: Any
    place: Any

    def __post_init__(self):
        ct.static_assert(self.array.ndim == 1)

    def __setitem__(self, k, value):
        ct.store(self.array, (self.place + k,), value)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 40


@feature("enum member", "enum comparison", "enum .name and .value", "IntEnum arithmetic", "enum construction")
def enums(b, t):
    colour = Colour.RED
    x = t + colour.value if colour == Colour.RED and colour.name == "RED" else t
    return x * Level.LOW + Level.HIGH if Colour(2) != colour else t


@contextlib.contextmanager
def doubled(x):
    yield x * 2


@feature("statement with", "contextlib.contextmanager", like=lambda b, t: t * 2 + b + 1)
def with_statement(b, t):
    with doubled(t) as twice:
        x = twice + b
    with doubled(x):
        x = x + 1
    return x


def array_tasks() -> Iterator[Task]:
    def subscripts(ins, out):
        slot = Slot(out, ct.bid(0) * 2)
        slot[0] = 5 + ct.bid(0)
        slot[1] = ins[0].shape[0]

    yield Task(("statement subscript assignment", "dataclass __setitem__", "dataclass __post_init__"), 0, "whole",
               lambda rng: ((np.zeros(3, np.float32),), np.zeros(4, np.int32)), subscripts,
               lambda ins, out: np.array([5, 3, 6, 3], np.int32))


def batches() -> Iterator[Batch]:
    yield from feature_batches(FEATURES)
    yield arraywise("feature-objects", "int32", list(array_tasks()))
