"""Estimates over a range of sizes: a name in the place of numbers, in arguments and grid."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.estimating.result import Estimate
from tilewright.estimating.roofline import Point
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.words import columns, duration, percent, scaled

MAX_POINTS = 64
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: -(-a // b),
    ast.FloorDiv: lambda a, b: -(-a // b)}
_SWEEP = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\d[\d\s,]*|\d+\s*:\s*\d+)\s*")


class Sweep(NamedTuple):
    """The `name` and the numbers that it stands for, one after another."""

    name: str
    numbers: tuple[int, ...]


def parse_sweep(text: str) -> Sweep:
    """`N=1024,4096` or `N=1024:65536`, which doubles. TileValueError for anything else."""
    found = _SWEEP.fullmatch(text)
    if found is None:
        raise TileValueError(f"--sweep takes a name and numbers, not {text!r}",
                             hints=["write N=1024,4096,16384, or N=1024:65536 to double from the first to the last"])
    name, numbers = found.groups()
    if ":" in numbers:
        low, high = (int(n) for n in numbers.split(":"))
        steps = range((high // low).bit_length()) if 0 < low <= high else ()
        points = tuple(low << k for k in steps)
    else:
        points = tuple(int(n) for n in numbers.split(",") if n.strip())
    if not points or min(points) < 1 or len(points) > MAX_POINTS:
        raise TileValueError(f"--sweep takes 1 to {MAX_POINTS} numbers above 0 (in N=1024:65536 the lower one first), "
                             f"not {text!r}")
    return Sweep(name, points)


def put(text: str, sweep: Sweep, number: int) -> str:
    """Arguments or a grid with a number for the name, which may stand in sums, products and quotients (rounded up)."""
    pattern = rf"[^,\[\]=\"]*\b{sweep.name}\b[^,\[\]=\"]*"
    return re.sub(pattern, lambda found: str(_value(found[0].strip(), sweep.name, number)), text)


def _value(text: str, name: str, number: int) -> int:
    try:
        return _evaluate(ast.parse(text, mode="eval").body, name, number)
    except (SyntaxError, ZeroDivisionError, TypeError):
        raise TileValueError(f"{text!r} is no size: {name}, numbers, +, -, * and / (rounded up) are") from None


def _evaluate(node: ast.AST, name: str, number: int) -> int:
    if isinstance(node, ast.Name) and node.id == name:
        return number
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_evaluate(node.left, name, number), _evaluate(node.right, name, number))
    raise TypeError


def told(sweep: Sweep, found: Sequence[Estimate]) -> str:
    """A line for each number."""
    first = found[0]
    head = ("CTAs", "waves", "memory", "work", "a byte", "at least", "bound by", "memory busy", "units busy")
    rows: list[tuple[str, ...]] = [(sweep.name, *head)]
    rows += [_row(number, one) for number, one in zip(sweep.numbers, found, strict=True)]
    return "\n".join([f"{first.kernel} on {first.device.title} ({first.device.target})", "", *columns(rows), "",
                      "a byte: operations for each byte of memory; busy: the share of the least time"])


def _row(number: int, one: Estimate) -> tuple[str, ...]:
    code = one.machine
    least, most = one.dram_bytes
    memory = scaled(least, "B") if least == most else f"{scaled(least, 'B')} to {scaled(most, 'B')}"
    units = max((share for kind, share in one.shares.items() if kind != "bandwidth"), default=0.0)
    return (str(number), str(code.ctas) if code else "", f"{code.waves:.2f}" if code else "", memory,
            scaled(one.work, "OP"), f"{one.intensity:.3g}", duration(one.seconds), one.limit,
            percent(one.shares["bandwidth"]), percent(units))


def points(found: Sequence[Estimate], names: Sequence[str]) -> list[Point]:
    """Those of a roofline: the rate in the least time."""
    return [Point(name, one.intensity, one.work / one.seconds) for name, one in zip(names, found, strict=True)
            if one.seconds and one.work]


def as_data(sweep: Sweep, found: Sequence[Estimate], each: Callable[[Estimate], dict[str, Any]]) -> dict[str, Any]:
    """As JSON has it."""
    return {"name": sweep.name, "points": [{sweep.name: number, **each(one)}
                                           for number, one in zip(sweep.numbers, found, strict=True)]}
