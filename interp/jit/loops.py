"""The loop around the elements: from an expression over operands to a function of NumPy arrays.

A compiled loop takes up to three outer axes and rows of elements, which lie side by side in each operand, or are all
one element. `FastLoop` brings operands into that form; what does not fit is copied first. Rows of results may be folded
into one number each (`folds.py`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.interp.jit.engine import Function, compile_text
from tilewright.interp.jit.folds import Fold

Array = Any
OUTER = 3
_BOUND = 2  # instructions for each array, up to which a loop waits for memory
_NARROW = '"prefer-vector-width"="256"'  # for these: wider vectors begin in one line of the cache and end in another
_WAYS = 256  # kept of each loop

# A body gives LLVM IR for one element: from the names of the operands' values to those of the results' and of a doubt.
Body = Callable[[Sequence[str]], tuple[list[str], list[str], str]]


class Way(NamedTuple):
    """How a loop goes through arrays of certain shapes and strides; `copies`: through contiguous copies of them."""

    function: Function
    copies: bool
    sizes: array[int]
    strides: array[int]


class FastLoop:
    """A function of arrays, element by element. `types` are LLVM's in memory, of the operands and then the results.

    `numbers` of its last operands are 64-bit integers, which are the same for all elements. `folds`: reductions of rows
    of some results, each with the number of its result; theirs are the last results.
    """

    def __init__(
        self, types: Sequence[str], dtypes: Sequence[Any], operands: int, body: Body, declarations: dict[str, str],
        numbers: int = 0, folds: Sequence[tuple[int, Fold]] = (),
    ) -> None:
        self._types = types
        self._dtypes = [np.dtype(d) for d in dtypes]
        self._operands = operands
        self._body = body
        self._declarations = declarations
        self._numbers = [f"%c{k}" for k in range(numbers)]
        self._folds = folds
        self._ways: dict[Any, Way] = {}
        self._compiled: dict[tuple[bool, ...], Function] = {}

    def __call__(
        self, shape: tuple[int, ...], operands: Sequence[Array], numbers: Sequence[int] = (),
        into: Sequence[Array] | None = None,
    ) -> Sequence[Array] | None:
        """The results for operands that broadcast to `shape`; None where an element is in doubt. `into`: where they go,
        arrays of that shape; `may_write` says which."""
        results = self.room(shape) if into is None else into
        key = shape, None if into is None else into[0].strides, *[(x.shape, x.strides) for x in operands]
        way = self._ways.get(key)
        if way is None:
            way = self._way(shape, operands, results)
            if len(self._ways) < _WAYS:
                self._ways[key] = way
        if way.copies:
            operands = [np.ascontiguousarray(np.broadcast_to(x, shape)) if x.size > 1 else x for x in operands]
        packed = array("q", way.sizes)
        packed.extend([x.__array_interface__["data"][0] for x in operands])
        packed.extend([x.__array_interface__["data"][0] for x in results])
        packed.extend(way.strides)
        packed.extend(numbers)
        return None if way.function(packed.buffer_info()[0]) else results

    def room(self, shape: tuple[int, ...]) -> list[Array]:
        """New arrays for results."""
        elements, folded = self._dtypes[self._operands :], [self._dtypes[self._operands + k] for k, _ in self._folds]
        return [*[np.empty(shape, d) for d in elements], *[np.empty(shape[:-1], d) for d in folded]]

    def _way(self, shape: tuple[int, ...], operands: Sequence[Array], results: Sequence[Array]) -> Way:
        count = len(results) - len(self._folds)
        goals = [*results[:count], *[x[..., None] for x in results[count:]]]
        rows = bool(self._folds)
        found = direct = _aligned(shape, [*operands, *goals], rows)
        if found is None:
            fixed = [np.empty(shape if x.size > 1 else x.shape, x.dtype) for x in operands]
            found = _aligned(shape, [*fixed, *goals], rows)
        assert found is not None
        sizes, strides = found
        single = tuple(s[-1] == 0 for s in strides)
        function = self._compiled.get(single)
        if function is None:
            function = self._compiled[single] = compile_text(self._text(single), "loop")
        return Way(function, direct is None, array("q", sizes), array("q", [n for s in strides for n in s[:OUTER]]))

    def _text(self, single: Sequence[bool]) -> str:
        types, count = self._types, len(self._types)
        row = ", ".join([*(f"ptr noalias %p{k}" for k in range(count)), *(f"i64 {c}" for c in self._numbers)])
        names = [f"%x{k}" for k in range(self._operands)]
        body, results, doubt = self._body([*names, *self._numbers])
        how = _NARROW if len(body) <= _BOUND * count else ""
        lines = [f"define internal i32 @row({row}, i64 %n) alwaysinline {how} {{", "entry:"]
        lines += [f"  %x{k} = load {types[k]}, ptr %p{k}" for k in range(self._operands) if single[k]]
        lines += ["  br label %each", "each:",
                  "  %i = phi i64 [0, %entry], [%next, %each]", "  %was = phi i32 [0, %entry], [%now, %each]"]
        for k in range(self._operands):
            if not single[k]:
                lines += [f"  %a{k} = getelementptr {types[k]}, ptr %p{k}, i64 %i",
                          f"  %x{k} = load {types[k]}, ptr %a{k}"]
        lines += body
        for k, value in enumerate(results, self._operands):
            lines += [f"  %a{k} = getelementptr {types[k]}, ptr %p{k}, i64 %i",
                      f"  store {types[k]} {value}, ptr %a{k}"]
        lines += [f"  %d = zext i1 {doubt} to i32", "  %now = or i32 %was, %d", "  %next = add nuw nsw i64 %i, 1",
                  "  %more = icmp ult i64 %next, %n", "  br i1 %more, label %each, label %done",
                  "done:", "  ret i32 %now", "}"]
        functions = [fold.text for _, fold in self._folds]
        declared = {**self._declarations, **{k: v for _, more in functions for k, v in more.items()}}
        folds = [(self._operands + k, count + n, fold.name) for n, (k, fold) in enumerate(self._folds)]
        driver = _driver(count, len(self._numbers), folds, how)
        return "\n".join([*declared.values(), *lines, *(text for text, _ in functions), driver])


def _driver(count: int, numbers: int, folds: Sequence[tuple[int, int, str]], how: str) -> str:
    """`loop(pointer)`: the outer axes around `row`. The pointer is to sizes, addresses, outer strides (bytes), numbers.

    `folds`: of an array's row into an element of another one, by a function. `how`: LLVM's attributes.
    """
    lines = [f"define i32 @loop(ptr %args) {how} {{", "entry:"]

    def field(name: str, place: int, type_: str = "i64") -> None:
        lines.extend([f"  %{name}.at = getelementptr i64, ptr %args, i64 {place}",
                      f"  %{name} = load {type_}, ptr %{name}.at"])

    every = range(count + len(folds))
    for j in range(OUTER + 1):
        field(f"n{j}", j)
    for k in every:
        field(f"b{k}", OUTER + 1 + k, "ptr")
        for j in range(OUTER):
            field(f"s{k}.{j}", OUTER + 1 + len(every) + k * OUTER + j)
    for k in range(numbers):
        field(f"c{k}", OUTER + 1 + len(every) * (OUTER + 1) + k)
    before = "entry"
    for j in range(OUTER):  # the heads of loops in loops, which count and step pointers on
        lines += [f"  br label %head{j}", f"head{j}:", f"  %i{j} = phi i64 [0, %{before}], [%i{j}.next, %end{j}]",
                  f"  %was{j} = phi i32 [{f'%was{j - 1}' if j else 0}, %{before}], [%now, %end{j}]"]
        lines += [f"  %p{k}.{j} = phi ptr [{f'%p{k}.{j - 1}' if j else f'%b{k}'}, %{before}], [%p{k}.{j}.next, %end{j}]"
                  for k in every]
        before = f"head{j}"
    last = OUTER - 1
    row = ", ".join([*(f"ptr %p{k}.{last}" for k in range(count)), *(f"i64 %c{k}" for k in range(numbers))])
    lines += [f"  %r = call i32 @row({row}, i64 %n{OUTER})", f"  %now.r = or i32 %was{last}, %r"]
    now = "%now.r"
    for k, goal, name in folds:
        lines += [f"  %f{goal} = call i32 @{name}(ptr %p{k}.{last}, ptr %p{goal}.{last})",
                  f"  %now.{goal} = or i32 {now}, %f{goal}"]
        now = f"%now.{goal}"
    lines += [f"  %now = or i32 {now}, 0", f"  br label %end{last}"]
    for j in reversed(range(OUTER)):
        lines += [f"end{j}:", f"  %i{j}.next = add nuw nsw i64 %i{j}, 1"]
        lines += [f"  %p{k}.{j}.next = getelementptr i8, ptr %p{k}.{j}, i64 %s{k}.{j}" for k in every]
        lines += [f"  %more{j} = icmp ult i64 %i{j}.next, %n{j}",
                  f"  br i1 %more{j}, label %head{j}, label %{f'end{j - 1}' if j else 'done'}"]
    return "\n".join([*lines, "done:", "  ret i32 %now", "}"])


def may_write(out: Array) -> bool:
    """Is this memory of a form that a loop can write?"""
    return bool(out.ndim <= OUTER + 1 and out.shape[-1] > 1 and out.strides[-1] == out.itemsize)


def _aligned(shape: tuple[int, ...], arrays: Sequence[Array], rows: bool) -> tuple[list[int], list[list[int]]] | None:
    """Sizes of the outer axes and of rows, and the strides of arrays along them; None where some must be copied.
    `rows`: they are those of the last axis."""
    axes = [i for i, n in enumerate(shape) if n != 1]
    sizes, strides = _merged([shape[i] for i in axes], [_strides(x, shape, axes) for x in arrays], rows)
    if len(sizes) > OUTER + 1 or any(s[-1] and s[-1] != x.itemsize for s, x in zip(strides, arrays, strict=True)):
        return None
    pad = OUTER + 1 - len(sizes)
    return [1] * pad + sizes, [[0] * pad + s for s in strides]


def _strides(x: Array, shape: tuple[int, ...], axes: list[int]) -> list[int]:
    """The strides of an operand along some axes of the shape to which it broadcasts."""
    own = x.strides
    if x.shape == shape:
        return [own[i] for i in axes]
    more = len(shape) - x.ndim
    return [own[i - more] if i >= more and x.shape[i - more] != 1 else 0 for i in axes]


def _merged(sizes: list[int], strides: list[list[int]], rows: bool) -> tuple[list[int], list[list[int]]]:
    """The same with neighbouring axes as one, where each operand goes through them in equal steps. `rows`: but for the
    last one."""
    if not sizes:
        return [1], [[0] for _ in strides]
    out, kept = [sizes[-1]], [[s[-1]] for s in strides]
    for i in range(len(sizes) - 2, -1, -1):
        inner = out[0]
        for s, k in zip(strides, kept, strict=True):
            if (rows and len(out) == 1) or s[i] != k[0] * inner:
                break
        else:
            out[0] = inner * sizes[i]
            continue
        out.insert(0, sizes[i])
        for s, k in zip(strides, kept, strict=True):
            k.insert(0, s[i])
    return out, kept
