"""A fault in the words of the user: the source line, the element, the operands on both sides."""

from __future__ import annotations

from typing import Any

from tilewright.comparing.bounds import same
from tilewright.comparing.probes import Probe, can_probe
from tilewright.comparing.records import Fault, Records, is_unwritten
from tilewright.comparing.result import Difference
from tilewright.comparing.search import Search
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.printer import op_text
from tilewright.tileir.types import TileType


def difference(records: Records, search: Search, fault: Fault) -> Difference:
    """The fault with the values around it, from a run with probes on the op and its operands alone."""
    op, visit = fault.op, fault.visit
    site = fault.site
    missing = [v for v in dict.fromkeys(op.operands) if can_probe(v) and not records.knows(v)]
    if missing:
        probes = [Probe(records.sites.of_value[v], v) for v in missing]
        records.add(probes, search.run(probes))
    pair, want = _results(records, fault)
    element = _first(pair, want, fault)
    operands = [_operand(records, value, visit, site, element) for value in op.operands if records.knows(value)
                and isinstance(value.type, TileType)]
    return Difference(
        op.opcode, op_text(op).partition("\n")[0], op.span, "ab"[fault.number], records.place(visit // site.slots),
        site.iterations(visit % site.slots), element, _at(pair[0], element), _at(pair[1], element),
        None if want is None else _at(want, element), tuple(operands), fault.sure)


def failing(function: Function, error: TileError, number: int) -> Difference | None:
    """The op at whose place in the source a side stopped."""
    span = error.span
    here = [op for op in function.walk() if (op.span.file, op.span.line) == (span.file, span.line)]
    found = next((op for op in here if op.span.col == span.col), here[-1] if here else None)
    if found is None:
        return None
    return Difference(found.opcode, op_text(found).partition("\n")[0], found.span, "ab"[number], (), (), (),
                      None, None, None, ())


def _results(records: Records, fault: Fault) -> tuple[tuple[Any, Any], Any]:
    value = fault.value
    if value is None or value not in records.values:
        return (fault.got or (None, None)), fault.want
    one, other = records.values[value]
    return (one[fault.visit], other[fault.visit]), fault.want


def _first(pair: tuple[Any, Any], want: Any, fault: Fault) -> tuple[int, ...]:
    """The first index at which the result is wrong."""
    import numpy

    got = pair[fault.number]
    right = pair[1 - fault.number] if want is None else want
    if got is None or right is None or not numpy.shape(got):
        return ()
    wrong = numpy.argwhere(~same(got, right))
    return tuple(int(i) for i in wrong[0]) if len(wrong) else (0,) * numpy.ndim(got)


def _operand(records: Records, value: Value, visit: int, site: Any, element: tuple[int, ...]) -> tuple[str, Any, Any]:
    one, other = records.operand(value, visit, site)
    name = value.hint or (value.op.opcode if value.op is not None else "value")
    shape = getattr(one, "shape", ())
    if shape and len(shape) == len(element) and all(i < n for i, n in zip(element, shape, strict=True)):
        return f"{name}{list(element)}", _at(one, element), _at(other, element)
    return name, _summary(one), _summary(other)


def _summary(value: Any) -> str:
    import numpy

    if is_unwritten(value).all():
        return "nothing"
    text = numpy.array2string(numpy.asarray(value), threshold=8, edgeitems=2, precision=6, separator=" ")
    return " ".join(text.split())


def _at(value: Any, element: tuple[int, ...]) -> Any:
    """An element, or all of a scalar; "nothing" where a side did not come."""
    if value is None:
        return None
    if not element:
        return _summary(value)
    return "nothing" if is_unwritten(value[element]).all() else value[element]
