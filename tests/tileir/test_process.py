"""Settings of the process that are another while any thread needs that."""

from __future__ import annotations

import gc
import threading

import pytest

from tilewright.tileir.process import WhileInside, uncollected


def test_the_last_one_out_restores() -> None:
    said: list[str] = []

    def change() -> object:
        said.append("changed")
        return lambda: said.append("restored")

    inside = WhileInside(change)  # type: ignore[arg-type]
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with inside:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with inside:
        thread.start()
        entered.wait()
        assert said == ["changed"]
    assert said == ["changed"], "the other thread is still inside"
    leave.set()
    thread.join()
    assert said == ["changed", "restored"]


def test_garbage_is_collected_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected:
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_who_collects_nothing_goes_on_so() -> None:
    gc.disable()
    try:
        with uncollected:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
