"""The gradient of a kernel: of a function that stores outputs, one that adds to the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.contract import contract_fma
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives import decisions
from tilewright.tileir.derivatives.activity import reaching_values, varied_values
from tilewright.tileir.derivatives.by_tiles import before_tiles, by_tiles, needed_of_blocks
from tilewright.tileir.derivatives.checks import (
    check_alone,
    check_outputs,
    check_reads,
    check_survivors,
    check_tiles,
)
from tilewright.tileir.derivatives.control import ops_around
from tilewright.tileir.derivatives.counting import counted
from tilewright.tileir.derivatives.keeping import Need, is_short, kept_in, need_of, trips_of
from tilewright.tileir.derivatives.padding import lanes_of
from tilewright.tileir.derivatives.places import Places
from tilewright.tileir.derivatives.residuals import Prepared, prepared, stores_of
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.turned import turn_tiles, unwiden
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.memory import Gather, Load, Store
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.types import Type


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked of a gradient, as positions of parameters. `stored_once`: outputs each element of which the kernel
    stores once, a promise; `residuals`, those that hold what the kernel has stored there; `overwrite`, those of `wrt`
    whose gradients are stored in the place of what was there. `blocks`: a block computes one tile of each gradient, and
    the kernel's grid comes as so many scalars. `fuse`: products of adjoints may become part of a sum, rounded once."""

    stored_once: frozenset[int] = frozenset()
    residuals: frozenset[int] = frozenset()
    overwrite: frozenset[int] = frozenset()
    blocks: int | None = None
    fuse: bool = True


def gradient(
    function: Function, outputs: Mapping[int, Type], wrt: Mapping[int, Type], wishes: Wishes = Wishes(), *, name: str,
    workspace: Type | None = None, parts: Mapping[int, Type] | None = None,
) -> Function:
    """The derived function. Its parameters are those of `function`, then the arrays that hold the cotangents of
    `outputs`, then those to which the gradients of `wrt` are added, then the `workspace` if there is one, then arrays
    for partial gradients, one for each block along their first axis, then the `blocks` of `wishes`; `outputs`, `wrt`
    and `parts` map positions of parameters to types.

    `function` is what the frontend has made, after its passes; it is not changed. Its stores are left out.
    Raises TileError, with the place, for what has no derivative.
    """
    task = _Task(prepared(counted(function), outputs, wishes.residuals), outputs, wrt, wishes, name, parts or {})
    loops = {} if workspace is None or wishes.blocks is not None else task.loops()
    return task.derive(loops, workspace)


def before_gradient(
    function: Function, outputs: Mapping[int, Type], wrt: Mapping[int, Type], wishes: Wishes, *, name: str,
    workspace: Type,
) -> Function:
    """The function that must run, over the grid of `function`, before that which `gradient` derives by tiles for the
    same arguments; it has the same parameters, and fills the workspace."""
    task = _Task(prepared(counted(function), outputs, wishes.residuals), outputs, wrt, wishes, name)
    derived, r = task.adjoint({}, workspace)
    assert wishes.blocks is not None
    before = before_tiles(derived, tiles_of(derived, r), wishes.blocks, derived.params[-1])
    return task.fused(before, r)


def needed(
    function: Function, outputs: Mapping[int, Type], wrt: Mapping[int, Type], wishes: Wishes = Wishes(),
) -> Need:
    """The workspace that `gradient` makes use of for the same arguments."""
    task = _Task(prepared(counted(function), outputs, wishes.residuals), outputs, wrt, wishes)
    if wishes.blocks is not None:
        derived, r = task.adjoint({}, None)
        return needed_of_blocks(derived, tiles_of(derived, r), wishes.blocks)
    return replace(need_of(task.loops()), parts=task.shared())


@dataclass(frozen=True, slots=True)
class _Task:
    """What is derived."""

    prepared: Prepared
    outputs: Mapping[int, Type]
    wrt: Mapping[int, Type]
    wishes: Wishes
    name: str = ""
    parts: Mapping[int, Type] = field(default_factory=dict)

    @property
    def function(self) -> Function:
        return self.prepared.function

    def shared(self) -> frozenset[int]:
        """The positions of `wrt` of whose arrays blocks load the same elements, by tiles: those have partial gradients.
        """
        params, (_, r) = self.function.params, self._made({}, None)
        dependences = Dependences(self.function)
        reads = {k: _reads(self.function, dependences, params[k], r.reaching) for k in self.wrt}
        return frozenset(k for k, ops in reads.items() if ops and params[k] not in r.apart and all(
            isinstance(op, Load) and op.array is params[k] for op in ops))

    def loops(self) -> dict[Op, list[int]]:
        """The loops that recompute so much that memory is cheaper, and the positions of the carried values that are
        needed for it."""
        derived, r = self._made({}, None)
        found: dict[Op, set[int]] = {}
        for made in derived.walk():
            if made in r.recomputing and made.results:
                op, results = r.recomputing[made]
                found.setdefault(op, set()).update(k for k, v in enumerate(results) if v in made.results)
        return {op: sorted(positions) for op, positions in found.items() if not is_short(op)}

    def derive(self, loops: Mapping[Op, list[int]], workspace: Type | None) -> Function:
        """The function, where these loops keep what they carry."""
        derived, r = self._made(loops, workspace)
        need = need_of(loops)
        derived.decisions += [
            *self.prepared.decisions, *(decisions.kept(op.span, need.words, need.bits) for op in loops),
            *(decisions.recomputed(op.span, trips_of(r.recomputing[op][0]))
              for op in derived.walk() if op in r.recomputing and op.results)]
        return derived

    def _made(self, loops: Mapping[Op, list[int]], workspace: Type | None) -> tuple[Function, Reverse]:
        """The function as `adjoint` derives it, by tiles of its gradients where that was asked for, and with tiles as
        they are used."""
        derived, r = self.adjoint(loops, workspace)
        if self.wishes.blocks is not None:
            added = frozenset(array for param, array in r.gradients.items() if param not in r.alone)
            kept = None if workspace is None else derived.params[-1]
            derived = by_tiles(derived, tiles_of(derived, r), added, self.wishes.blocks, kept)
            dce(Unit(derived))
        unwiden(derived)
        turn_tiles(derived)
        dce(Unit(derived))
        return self.fused(derived, r), r

    def fused(self, derived: Function, r: Reverse) -> Function:
        """The function, with products in the sums of adjoints. What is rematerialised of the kernel stays as it is: to
        the bit what the kernel has stored, of which a gradient may ask where it was largest, say."""
        if self.wishes.fuse:
            contract_fma(derived, r.b.made)
        return derived

    def adjoint(self, loops: Mapping[Op, list[int]], workspace: Type | None) -> tuple[Function, Reverse]:
        """The function that adds to gradients, over the grid of the kernel, and how it was made."""
        function, params = self.function, self.function.params
        sources = frozenset(params[k] for k in self.wrt)
        varied = varied_values(function, sources)
        dependences, places = Dependences(function), Places(function)
        found = stores_of(function, [params[k] for k in self.outputs])
        stores = {k: found[params[k]] for k in self.outputs}
        check_outputs(function, stores, places, self.wishes.stored_once)
        check_reads(function, dependences, varied, sources, self.prepared.loads)
        seeding = {op for ops in stores.values() for op in ops}
        ops_around(function.body, seeding)
        body = Block()
        r = Reverse(body, varied, seeding)
        r.saved = self.prepared.saved
        r.lanes = lanes_of(function, r.saved)
        r.know(params, [body.add_param(p.type, p.hint) for p in params])
        r.cotangents = {params[k]: body.add_param(t, f"{params[k].hint}_grad") for k, t in self.outputs.items()}
        r.gradients = {params[k]: body.add_param(t, f"{params[k].hint}_grad") for k, t in self.wrt.items()}
        if workspace is not None:
            kept = body.add_param(workspace, "workspace")
            r.kept = kept_in(kept, loops) if loops else {}
        r.parts = {params[k]: body.add_param(t, f"{params[k].hint}_grad_parts") for k, t in self.parts.items()}
        r.reaching = varied & reaching_values(function, seeding)
        reads = {p: _reads(function, dependences, p, r.reaching) for p in r.gradients}
        r.apart = frozenset(p for p, ops in reads.items() if places.apart(ops) and all(
            places.lanes_differ(op) for op in ops if isinstance(op, Gather)))
        r.alone = frozenset(params[k] for k in self.wishes.overwrite)
        r.by_tiles = self.wishes.blocks is not None
        for param in () if r.by_tiles else r.alone:
            check_alone(param, reads[param], param in r.apart, places)
        if r.by_tiles:
            check_tiles(function, reads)
        r.b.span = function.span
        r.replay(function.body.ops[:-1], keep=True)
        r.reverse(function.body)
        r.b.emit(Return())
        derived = Function(self.name, body, function.hints, function.span)
        dce(Unit(derived))
        check_survivors(derived, {r.now(p) for k, p in enumerate(params) if k not in self.wishes.residuals
                                  and dependences.alias_class(p) in dependences.written})
        if r.by_tiles:
            run_pipeline(derived)  # what loops only hand on, they no longer carry
        derived.decisions = [
            decisions.addition(p.hint, self._way(p, r), ops[0].span)
            for p, ops in reads.items() if ops]
        return derived, r

    def _way(self, param: Value, r: Reverse) -> str:
        """How a gradient comes to its array: a key of decisions.WAYS."""
        if r.by_tiles:
            return "tiles"
        kinds = (("alone", r.alone), ("apart", r.apart), ("parts", r.parts))
        return next((way for way, params in kinds if param in params), "shared")


def tiles_of(derived: Function, r: Reverse) -> list[Store]:
    """The ops that store tiles of gradients."""
    return [op for op in derived.walk() if isinstance(op, Store) and op.array in r.gradients.values()]


def _reads(function: Function, dependences: Dependences, param: Value, reaching: set[Value]) -> list[Op]:
    """The ops through which a gradient reaches a parameter's array."""
    home = dependences.alias_class(param)
    return [
        op for op in function.walk() if op.effectful and any(v in reaching for v in op.results)
        and any(dependences.alias_class(memory) is home for memory in op.effects().reads)]
