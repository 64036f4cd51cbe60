"""The variables that a loop carries from one iteration to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilewright.frontend.aliases import check_round
from tilewright.frontend.branches import narrowed
from tilewright.frontend.scopes import Binding, Conflict, MaybeUnbound
from tilewright.frontend.structure import (
    Mismatch,
    concrete,
    forget_facts,
    hand_over,
    known_from,
    leaves,
    made_by,
    match,
    rebuild,
)
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Val, describe, named
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import Related, TileTypeError


class Carried:
    """The variables that go round a loop, and their form as IR values."""

    def __init__(self, t: Translator, node: ast.While | ast.For, hidden: str = "") -> None:
        flow = t.scope.source.flow
        live = flow.head[node] | flow.captured
        found = t.scope.vars
        changed = {n for n in flow.changed[node] if n in found and made_by(found[n].value)}
        self.assigned = sorted(flow.assigned[node] | changed)
        self.names = [n for n in self.assigned if n in live and n in found and is_usable(found[n])]
        self.names += [hidden] if hidden else []
        self.init = {n: forget_facts(t, concrete(t, found[n].value)) for n in self.names}
        self.nodes = {n: found[n].node for n in self.names}
        self.after = dict(self.init)  # in them, lists and dicts may also be those of the body
        self.first = len(t.changes)

    def values(self) -> list[Value]:
        """Their values before the loop."""
        return [leaf for n in self.names for leaf in leaves(self.init[n])]

    def enter(self, t: Translator, block: Block) -> None:
        """Add a parameter per value to a block and bind the variables to them."""
        for n in self.names:
            params = [block.add_param(leaf.type, n) for leaf in leaves(self.init[n])]
            t.scope.vars[n] = Binding(rebuild(self.init[n], iter(params)), self.nodes[n])

    def at_end(self, t: Translator, ways: int, last: int = 0) -> list[Value]:
        """Their values at the end of the body, where it is left one of `ways`; TileTypeError where a type changed.

        On the ways `last` the loop ends, with the same values: a constant of `ways` alone is none there.
        """
        end = narrowed(t.scope.vars, ways)
        if last:
            end |= {n: b for n, b in narrowed(t.scope.vars, ways | last).items() if is_usable(b)}
        out: list[Value] = []
        for n in self.names:
            binding = end.get(n) or Binding(MaybeUnbound(self.nodes[n]), self.nodes[n])
            try:
                if not is_usable(binding):
                    raise Mismatch
                out += [hand_over(t, leaf, type_) for leaf, type_ in match(self.init[n], binding.value)]
            except Mismatch:
                raise self._changed(t, n, binding) from None
        if not check_round(t, self.assigned, self.init, end, self.first):
            self.after = {n: known_from(self.init[n], end[n].value) for n in self.names}
        return out

    def leave(self, t: Translator, results: Iterator[Value], end: dict[str, Binding]) -> None:
        """Bind the variables to a loop's results; what else the body assigned may be undefined from here on."""
        for n in self.names:
            t.scope.vars[n] = Binding(rebuild(self.after[n], results), self.nodes[n])
            give_hint(t.scope.vars[n].value, n)
        for n in self.assigned:
            if n not in self.init and n in end:
                t.scope.vars[n] = Binding(MaybeUnbound(end[n].node), end[n].node)

    def _changed(self, t: Translator, name: str, binding: Binding) -> TileTypeError:
        before, after = self.init[name], binding.value
        node = binding.node
        if isinstance(after, (Conflict, MaybeUnbound)):
            text = "has a type after the body that depends on the way through it"
        else:
            text = f"is {named(before)} before the loop and {named(after)} at the end of its body"
        return TileTypeError(
            f"{name} {text}", t.span(node), label=describe(after) if is_usable(binding) else "",
            related=[Related(t.span(self.nodes[name]), f"{name} starts as {named(before)}")],
            hints=[_how_to_start(name, before, after)],
        )


def is_usable(binding: Binding) -> bool:
    return not isinstance(binding.value, (Conflict, MaybeUnbound))


def _how_to_start(name: str, before: Val, after: Val) -> str:
    if isinstance(before, (ListOf, Keywords)) and type(after) is type(before):
        return "a loop that makes a list longer, or adds keys, has a number of iterations that is known while compiling"
    if not isinstance(after, Value) or not hasattr(after.type, "dtype") or not isinstance(before, Value):
        return f"a variable that a loop carries keeps its type; use another name, or start {name} as what it becomes"
    dtype, shape = after.type.dtype, getattr(after.type, "shape", ())
    if not shape:
        return f"start it with that type: {name} = ct.{dtype}(0)"
    return f"start it with that type: {name} = ct.full({shape}, 0, ct.{dtype})"


def give_hint(value: Val, name: str) -> None:
    for leaf in leaves(value):
        leaf.hint = leaf.hint or name
