"""Branches, loops and jumps: a kernel gives what the same Python function gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as ct
from tilewright.tileir.ops.control import For, If, While


def run(function: Callable[..., Any], *args: int) -> int:
    """The int that a helper returns inside a kernel, its arguments known at run time only."""

    @ct.tile_kernel
    def kernel(inputs, out):
        values = tuple(ct.gather(inputs, i) for i in ct.static_iter(range(count)))
        ct.store(out, (0,), ct.astype(function(*values), ct.int32))

    count = len(args)
    out = np.zeros(1, np.int32)
    kernel[(1,)](np.array([*args, 0], np.int32), out)
    return int(out[0])


def first_divisor(n):
    i = 2
    while i * i <= n:
        if n % i == 0:
            return i
        i += 1
    return n


def forever(n):
    while True:
        n = n * 3 + 1
        if n > 1000:
            last = n
            break
        if n % 7 == 0:
            last = -n
            break
    return last


def forever_return(n):
    total = 0
    while True:
        total += n
        if total > 50:
            return total
        n += 1


def sum_odd(n):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
    return total


def find(n):
    found = -1
    for i in range(n):
        if i * i > n:
            found = i
            break
    return found


def nested(n):
    count = 0
    for i in range(n):
        for j in range(i, n):
            if j % 3 == 2:
                continue
            if i + j > 9:
                break
            count += i * j + 1
        if count > 60:
            break
    return count


def mixed(n):
    total = 0
    i = 0
    while i < n:
        i += 1
        if i % 2 == 0:
            if i % 3 == 0:
                continue
            step = i
        else:
            if i > 11:
                break
            step = 2 * i
        total += step
    return total + i


def early(n):
    if n < 0:
        return -1
    if n == 0:
        return 0
    elif n > 10:
        n = n - 10
        if n > 5:
            return 100 + n
    return n


def both_branches(n):
    if n > 3:
        x = n * 2
        y = 1
    else:
        x = n
        y = 2
    return x * 10 + y


def swap(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def logic(n):
    r = 0
    if (n > 2 and n < 7) or n == 9:
        r += 1
    if not (n > 4):
        r += 2
    if 3 < n <= 8:
        r += 4
    r += 8 if n % 2 else 16
    return r


def reassigned_variable(n):
    total = 0
    for i in range(n):
        i = i * 2
        total += i
    return total


def early_in_nested_while(n):
    i = 0
    while i < 5:
        j = 0
        while j < 5:
            if i * j > n:
                return i * 10 + j
            j += 1
        i += 1
    return -1


def defined_before_break(n):
    while True:
        if n > 5:
            if n > 8:
                y = 7
                break
            n += 1
            continue
        y = n
        if y % 2 == 1:
            break
        n += 3
    return y


def left_at_once(n):
    a, b = 1, 2
    while n > a:
        a = n + 5
        b = b * 3
        break
    return a * 100 + b


def left_on_every_path(n):
    a, b = 1, 2
    while n > b:
        a = n + b
        if a > 5:
            b = 7
            break
        if n < 4:
            return a
        b += 10
        break
    return a * 100 + b


def counts_down(n):
    r = 0
    for i in range(n, -2, -3):
        for j in reversed(range(1, n, 2)):
            r = r * 3 % 1000 + i * j
        for j in reversed(range(n, i, -2)):
            r += j
    for j in reversed((1, 2, n)):
        r = r % 1000 * 2 + j
    return r


def leaves_a_countdown(n):
    last = n
    for i in range(n, 0, -1):
        if i % 4 == 2:
            continue
        last = i
        if i * i < n:
            break
    return last * 10


def returns_from_for(n):
    for i in range(n):
        for j in range(n, 0, -2):
            if i * j > 20:
                return i * 100 + j
        if i == 6:
            return -1
    return n


def a_range_that_a_branch_chooses(n):
    steps = range(n, 0, -2) if n % 2 else range(2 * n, 1, -2)
    r = 0
    for i in steps:
        r = r * 3 % 1000 + i
    return r


def leaves_a_repeated_body(n):
    r = 0
    for i in (1, 2, 3, 4):
        if i == 2:
            continue
        for step in (5, 6, 7):
            if step > 6:
                break
            r += n * step
        if i == 3:
            break
        if n > 4:
            r += i
    for scale in (1, 2):
        if n > scale:
            r += 1
        if scale == 2:
            return r * scale
    return -1


FUNCTIONS = [
    leaves_a_repeated_body,
    counts_down, leaves_a_countdown, returns_from_for, a_range_that_a_branch_chooses,
    left_at_once, left_on_every_path, first_divisor, forever, forever_return, sum_odd, find, nested, mixed, early,
    both_branches, swap, logic, reassigned_variable, early_in_nested_while, defined_before_break,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [-3, 0, 1, 2, 3, 4, 5, 7, 9, 12, 15, 35])
def test_as_python(function: Callable[[int], int], n: int) -> None:
    if function is first_divisor and n < 0:
        return
    assert run(function, n) == function(n)


def kinds(kernel: Any, *args: Any) -> list[str]:
    from tilewright.frontend import translate

    return [op.opcode for op in translate(kernel.__wrapped__, kernel.arg_specs(*args)).walk()]


X = np.zeros(8, np.int32)


def test_a_plain_for_stays_a_for() -> None:
    @ct.tile_kernel
    def kernel(x, n: int):
        acc = 0
        for i in range(n):
            if i == 3:
                continue
            acc += i
        ct.store(x, (0,), acc)

    found = kinds(kernel, X, 3)
    assert For.opcode in found and While.opcode not in found


def test_an_early_return_at_the_top_becomes_one_if() -> None:
    @ct.tile_kernel
    def kernel(x, n: int):
        if n > 3:
            return
        ct.store(x, (0,), n)

    found = kinds(kernel, X, 3)
    assert found.count(If.opcode) == 1
    assert "constant" in found and found.count("store") == 1


def test_a_dead_branch_is_not_checked() -> None:
    nothing: Any = None

    @ct.tile_kernel
    def kernel(x, flag: ct.Constant[bool]):
        if flag:
            v = ct.load(x, (0,), (8,)) + nothing
        else:
            v = ct.load(x, (0,), (8,))
        y = v if not flag else nothing + 1
        ct.store(x, (0,), y)

    assert If.opcode not in kinds(kernel, X, False)


def test_variables_that_are_dead_at_the_loop_head_may_change_type() -> None:
    @ct.tile_kernel
    def kernel(x, n: int):
        t = 1
        total = ct.zeros((8,), ct.int32)
        for i in range(n):
            t = ct.load(x, (i,), (8,))
            total = total + t
        t = 2.5
        ct.store(x, (0,), total + ct.int32(t))

    x = np.arange(8, dtype=np.int32)
    kernel[(1,)](x, 1)
    assert (x == np.arange(8) + 2).all()


def test_a_conflict_that_is_not_used_is_no_error() -> None:
    @ct.tile_kernel
    def kernel(x, n: int):
        if n > 1:
            t = 1
        else:
            t = 1.5  # noqa: F841
        ct.store(x, (0,), n)

    kernel[(1,)](X.copy(), 2)


def test_a_conflict_is_raised_at_the_use() -> None:
    @ct.tile_kernel
    def kernel(x, n: int):
        if n > 1:
            t = 1
        else:
            t = 1.5
        ct.store(x, (0,), t)

    with pytest.raises(ct.TileTypeError, match="t is an int constant 1 after line .* float constant 1.5"):
        kernel[(1,)](X.copy(), 2)


def test_arrays_with_other_facts_meet() -> None:
    @ct.tile_kernel
    def kernel(a, b, out, n: int):
        c = a if n > 1 else b
        for i in range(2):
            c = a if i == 0 else c
        ct.store(out, (0,), ct.load(c, (0,), (8,)))

    out = np.zeros(8, np.int32)
    kernel[(1,)](np.arange(16, dtype=np.int32)[::2], np.arange(8, dtype=np.int32), out, 0)
    assert (out == np.arange(16)[::2]).all()
