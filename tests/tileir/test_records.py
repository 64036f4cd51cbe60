"""Records are what frozen dataclasses with slots are, method by method."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from tilewright.tileir.records import record


class Point:
    """A class to be made a record."""

    x: int
    label: str = "none"
    parts: list[int] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


Recorded: Any = record(type("Recorded", (), dict(Point.__dict__) | {"__qualname__": "Recorded"}))
Plain: Any = dataclass(frozen=True, slots=True)(type("Plain", (), dict(Point.__dict__) | {"__qualname__": "Plain"}))
Recorded.__module__ = Plain.__module__ = __name__


@pytest.mark.parametrize("cls", [Recorded, Plain])
def test_methods(cls: Any) -> None:
    one, same, other = cls(1), cls(x=1, parts=[3]), cls(1, "a")
    assert one == same and hash(one) == hash(same) and one != other and one != (1, "none")
    assert one.parts == [] and one.parts is not cls(1).parts
    assert str(inspect.signature(cls)) == str(inspect.signature(Plain))
    assert repr(other) == f"{cls.__qualname__}(x=1, label='a', parts=[])"
    assert [f.name for f in fields(cls)] == ["x", "label", "parts"]
    assert replace(other, x=2) == cls(2, "a") and copy.copy(other) == other == copy.deepcopy(other)
    match other:
        case cls(1, label):
            assert label == "a"
        case _:
            raise AssertionError(other)
    for wrong, error in (((), TypeError), ((1, "a", [], 0), TypeError), ((-1,), ValueError)):
        with pytest.raises(error):
            cls(*wrong)
    with pytest.raises(ValueError, match="x is negative"):
        replace(one, x=-1)


@pytest.mark.parametrize("cls", [Recorded, Plain])
def test_records_do_not_change(cls: Any) -> None:
    one = cls(1)
    assert not hasattr(one, "__dict__")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x


@record
class Named:
    """With methods of its own, which stay."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named)


@record
class Empty:
    """Without fields."""


def test_own_methods_stay() -> None:
    assert repr(Named("a")) == "<a>" and Named("a") == Named("b") and hash(Named("a")) != hash(Named("b"))
    assert Empty() == Empty() and repr(Empty()) == "Empty()" and hash(Empty()) == hash(Empty())


def test_records_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Named("a"))).name == "a"


def test_a_frozen_dataclass_may_go_on_from_a_record() -> None:
    @dataclass(frozen=True, slots=True)
    class Longer(Named):
        length: int = 3

    assert Longer("a").length == 3 and Longer("a").name == "a"
