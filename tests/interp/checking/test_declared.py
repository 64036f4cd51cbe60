"""Which memory is declared to hold nothing: exactly the bytes of the array, until a launch has written all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


@tw.tile_kernel
def fills(x, n: tw.Constant[int]):
    tw.store(x, 0, tw.zeros((n,), x.dtype) + 1)


@tw.tile_kernel
def total(x, out, n: tw.Constant[int]):
    tw.store(out, 0, tw.sum(tw.load(x, 0, n)))


@tw.tile_kernel
def table_total(x, out, m: tw.Constant[int], n: tw.Constant[int]):
    tw.store(out, 0, tw.sum(tw.load(x, (0, 0), (m, n))))


def kinds(kernel: Any, *args: Any) -> set[str]:
    return {report.kind for report in kernel.interpret(1, *args, check=True, on_report="collect")}


def is_declared(x: Any) -> bool:
    out = np.zeros(1, x.dtype)
    found = kinds(total, x, out, len(x)) if x.ndim == 1 else kinds(table_total, x, out, *x.shape)
    assert found <= {"undefined"}
    return bool(found)


@pytest.mark.parametrize("part, inside, outside", [
    (slice(4, 8), [slice(4, 8), slice(6, 8), slice(4, 5), slice(7, 8)], [slice(0, 4), slice(8, 12), slice(3, 4)]),
    (slice(7, 3, -1), [slice(4, 8), slice(4, 5), slice(7, 8)], [slice(3, 4), slice(8, 9)]),
    (slice(4, 8, 2), [slice(4, 5), slice(6, 7)], [slice(7, 8), slice(3, 4)]),
])
def test_the_bytes_of_an_array_are_declared(part: slice, inside: list[slice], outside: list[slice]) -> None:
    base = np.zeros(16, np.int32)
    kept = tw.uninitialized(base[part])
    assert len(kept)
    assert all(is_declared(base[s]) for s in inside) and not any(is_declared(base[s]) for s in outside)


def test_rows_and_columns() -> None:
    table = np.zeros((8, 8), np.int32)
    rows = tw.uninitialized(table[2:4])
    assert is_declared(rows) and is_declared(table[3:4]) and not is_declared(table[4:6])
    turned = np.zeros((4, 8), np.int32)
    columns = tw.uninitialized(turned.T)
    assert is_declared(turned) and is_declared(columns) and is_declared(turned[:, 4:])


def test_what_was_written_is_forgotten_and_nothing_else() -> None:
    base = np.zeros(16, np.int32)
    left, right = tw.uninitialized(base[:8]), tw.uninitialized(base[8:])
    assert not kinds(fills, left, 8)
    assert not is_declared(left) and is_declared(right)
    assert kinds(fills, right, 4) == {"unwritten"}
    middle = tw.uninitialized(base[2:6])
    assert is_declared(middle)
    assert not kinds(fills, base[:4], 4)
    assert is_declared(base[2:6]), "half of it was written"
    assert not kinds(fills, tw.uninitialized(base), 16)
    assert not is_declared(base[2:6])
