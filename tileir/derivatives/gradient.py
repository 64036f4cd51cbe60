"""The gradient of a kernel: of a function that stores outputs, one that adds to the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives import decisions
from tilewright.tileir.derivatives.activity import varied_values
from tilewright.tileir.derivatives.checks import check_outputs, check_reads, check_survivors
from tilewright.tileir.derivatives.control import ops_around
from tilewright.tileir.derivatives.padding import unbounded_values
from tilewright.tileir.derivatives.places import Places
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.ops.control import Return
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.types import Type


def gradient(
    function: Function, outputs: Mapping[int, Type], wrt: Mapping[int, Type], *, name: str,
    stored_once: frozenset[int] = frozenset(),
) -> Function:
    """The derived function. Its parameters are those of `function`, then the arrays that hold the cotangents of
    `outputs`, then those to which the gradients of `wrt` are added; both map positions of parameters to types. The
    caller promises that the kernel stores each element of the outputs `stored_once` once.

    `function` is what the frontend has made, after its passes; it is not changed. Its stores are left out.
    Raises TileError, with the place, for what has no derivative.
    """
    params = function.params
    sources = frozenset(params[k] for k in wrt)
    varied = varied_values(function, sources)
    dependences, places = Dependences(function), Places(function)
    stores = _stores(function, dependences, {k: params[k] for k in outputs})
    check_outputs(function, stores, places, stored_once)
    check_reads(function, dependences, varied, sources)
    seeding = {op for ops in stores.values() for op in ops}
    ops_around(function.body, seeding)
    body = Block()
    r = Reverse(body, varied, seeding)
    r.unbounded = unbounded_values(function)
    r.know(params, [body.add_param(p.type, p.hint) for p in params])
    r.cotangents = {params[k]: body.add_param(t, f"{params[k].hint}_grad") for k, t in outputs.items()}
    r.gradients = {params[k]: body.add_param(t, f"{params[k].hint}_grad") for k, t in wrt.items()}
    reads = {p: _reads(function, dependences, p, varied) for p in r.gradients}
    r.apart = frozenset(p for p, ops in reads.items() if places.apart(ops))
    r.b.span = function.span
    r.replay(function.body.ops[:-1])
    r.reverse(function.body)
    r.b.emit(Return())
    derived = Function(name, body, function.hints, function.span)
    dce(Unit(derived))
    derived.decisions = [
        *(decisions.addition(p.hint, p in r.apart, ops[0].span) for p, ops in reads.items() if ops),
        *(decisions.recomputed(op.span) for op in derived.walk() if op in r.recomputing and op.results)]
    check_survivors(derived, {r.now(p) for p in params if dependences.alias_class(p) in dependences.written})
    return derived


def _stores(
    function: Function, dependences: Dependences, outputs: Mapping[int, Value]
) -> dict[int, list[Op]]:
    """The ops that write each output, in program order."""
    found: dict[int, list[Op]] = {k: [] for k in outputs}
    for op in function.walk():
        for memory in op.effects().writes if op.writing else ():
            for k in dependences.parameters(memory) & outputs.keys():
                found[k].append(op)
    return found


def _reads(function: Function, dependences: Dependences, param: Value, varied: set[Value]) -> list[Op]:
    """The ops through which a gradient reaches a parameter's array."""
    home = dependences.alias_class(param)
    return [
        op for op in function.walk() if op.effectful and any(v in varied for v in op.results)
        and any(dependences.alias_class(memory) is home for memory in op.effects().reads)]
