"""What a kernel must not do for its gradient to be right, each refused at the user's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.derivatives.places import Places
from tilewright.tileir.diagnostics import Related, TileTypeError, TileUnsupportedFeatureError
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.memory import Load


def check_outputs(
    function: Function, stores: Mapping[int, list[Op]], places: Places, stored_once: frozenset[int]
) -> None:
    """Each output is written, no element of it twice, and no op that writes gives back what it has found."""
    used = {value for op in function.walk() for value in op.operands}
    for op in function.walk():
        if op.acts and any(result in used for result in op.results):
            raise TileUnsupportedFeatureError(
                "the gradient runs the kernel again, and would not find the value again that this gives", op.span,
                hints=["use the effect of an atomic operation alone, and read with plain loads"])
    for position, ops in stores.items():
        name = function.params[position].hint
        if not ops:
            raise TileTypeError(f"{name} is no output: nothing is stored in it", function.span)
        if position in stored_once or all(isinstance(op, AtomicRmw) for op in ops):
            continue
        pair = places.overlapping(ops)
        if pair is not None:
            raise TileUnsupportedFeatureError(
                f"this may overwrite what was stored in {name} before", pair[1].span,
                related=[Related(pair[0].span, "stored here")],
                hints=["store each element of an output once: a gradient does not know which value stayed",
                       promise(name)])
        for op in ops:
            if places.rerun(op) is not None:
                raise TileUnsupportedFeatureError(
                    f"an iteration may overwrite what an earlier one has stored in {name}", op.span,
                    hints=["index the store with the loop variable, or store behind the loop", promise(name)])


def promise(name: str) -> str:
    return f'where it is so and cannot be seen from the indices, say it: grad(..., stored_once="{name}")'


def check_reads(
    function: Function, dependences: Dependences, varied: set[Value], sources: frozenset[Value], loads: set[Op],
) -> None:
    """No array is read that holds an intermediate result, or that is overwritten, but for `loads` of residuals."""
    watched = {dependences.alias_class(p) for p in sources} & dependences.written
    for op in function.walk():
        if op.writing and any(value in varied for value in op.operands):
            watched |= {dependences.alias_class(memory) for memory in op.effects().writes}
    for op in function.walk():
        if not op.effectful or op.writing or op in loads:
            continue
        effects = op.effects()
        if any(dependences.alias_class(memory) in watched for memory in effects.reads):
            raise in_place(op)


def check_survivors(derived: Function, written: set[Value]) -> None:
    """What the gradient reads is what the kernel has read: nothing has been written there since."""
    dependences = Dependences(derived)
    classes = {dependences.alias_class(param) for param in written}
    for op in derived.walk():
        if op.effectful and any(dependences.alias_class(m) in classes for m in op.effects().reads):
            raise in_place(op)


def in_place(op: Op) -> TileUnsupportedFeatureError:
    return TileUnsupportedFeatureError(
        "this reads an array that the kernel also writes, and the gradient needs the value that was there", op.span,
        hints=["store into another array"])


def check_alone(param: Value, reads: Sequence[Op], apart: bool, places: Places) -> None:
    """Each element of an array whose gradient is stored, not added, is read once by the kernel."""
    if not reads:
        return
    pair = places.overlapping(reads)
    again = next((op for op in reads if places.rerun(op) is not None), None)
    if apart and pair is None and again is None:
        return
    op, who = (again, "an iteration") if again is not None else (pair[1], "this") if pair else (reads[0], "a block")
    raise TileUnsupportedFeatureError(
        f"the gradient of {param.hint} cannot be stored: {who} may read what was read before, so that it is a sum",
        op.span, related=[Related(pair[0].span, "read here")] if pair and again is None else [],
        hints=[f"leave {param.hint} out of overwrite, and give zeros to add to"])


def check_tiles(function: Function, reads: Mapping[Value, Sequence[Op]]) -> None:
    """Each array whose gradient is computed by its own tiles is loaded by one op, tile by tile."""
    for param, ops in reads.items():
        op = next((op for op in ops if not isinstance(op, Load) or op.array is not param), None)
        if op is None and len(ops) == 1:
            continue
        raise TileUnsupportedFeatureError(
            f"the gradient of {param.hint} cannot be computed by its own tiles: "
            + ("it is not loaded by tiles" if op is not None else "it is loaded more than once" if ops else
               "no output changes with it"), (op or ops[-1] if ops else function).span,
            hints=["leave by_tiles out: gradients are added up block by block"])
