"""Python that runs while a kernel is compiled."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin

__all__ = [
    "static_eval", "static_assert", "static_iter", "ensure_constant",
]


@builtin("static_eval")
def static_eval(expression: Any, /) -> Any:
    """The value of a Python expression that is run once, while the kernel is compiled.

    Arguments: any Python expression over globals and locals: constants are Python values, tiles and arrays stand-ins
        that have dtype, shape and ndim and can be computed with.
    Result: the value: a number, string, dtype, tuple, list, dict or dataclass of those, a function, or a tile computed
        from stand-ins.
    Errors: TileStaticEvalError for what the expression raises, and for a call that loads, stores or changes a shape;
        TileTypeError for a value that kernels cannot hold, such as a set. Write it as a call of `ct.static_eval`; it
        cannot be stored and called later (TileSyntaxError).

    Example:
        t = ct.arange(8, dtype=ct.int32)
        halves = ct.static_eval([n // 2 for n in t.shape][0])
        print(halves, ct.static_eval(sorted("cab")[0]))   # 4 a
        ct.static_eval(1 / 0)                             # TileStaticEvalError
        ct.static_eval({1, 2})                            # TileTypeError
    """


@builtin("static_assert")
def static_assert(condition: Any, message: Any = None, /) -> None:
    """Refuse to compile unless a condition holds.

    Arguments: `condition`, an expression as in `static_eval` whose value is a bool; `message`, evaluated only on
        failure.
    Result: nothing.
    Errors: TileStaticAssertionError where it is False; TileTypeError where it is no constant bool.

    Example:
        t = ct.arange(8, dtype=ct.int32)
        ct.static_assert(t.shape[0] % 4 == 0)
        print("compiled")                                           # compiled
        ct.static_assert(t.dtype == ct.float32, f"got {t.dtype}")   # TileStaticAssertionError
        ct.static_assert(t.shape[0])                                # TileTypeError
    """


@builtin("static_iter")
def static_iter(iterable: Any, /) -> Any:
    """In `for x in ct.static_iter(...)`: the loop's body once for every item, unrolled while compiling.

    Arguments: an expression as in `static_eval` whose value is any Python iterable of at most 1000 items.
    Result: items as constants, so that dtypes and shapes may differ from round to round.
        `tuple(... for x in ct.static_iter(...))` collects values.
    Errors: TileStaticEvalError for more items; TileSyntaxError for `break`, `continue` or `return` in the body
        under a condition that only the run knows, and outside of a `for`.

    Example:
        t = ct.arange(8, dtype=ct.int32)
        for width in ct.static_iter([2, 4]):
            print(ct.sum(t.reshape((-1, width)), axis=1))   # [1, 5, 9, 13]
                                                            # [6, 22]
        powers = tuple(2 ** i for i in ct.static_iter(range(4)))
        print(powers)                                       # (1, 2, 4, 8)
    """


@builtin("ensure_constant")
def ensure_constant(x: Any, /) -> Any:
    """x, which must be known while compiling.

    Arguments: `x`, any value.
    Result: x.
    Errors: TileStaticAssertionError where x depends on the launch.

    Example:
        t = ct.zeros((8,), ct.float32)
        print(ct.ensure_constant(t.shape[0] * 2))   # 16
        ct.ensure_constant(ct.bid(0))               # TileStaticAssertionError
    """
