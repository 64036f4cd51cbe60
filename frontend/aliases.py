"""What else stands for a list or dict that changes: other names, loops over it, the rest of an expression.

As changing one binds its name anew, none of these would see the change, which Python shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.frontend.scopes import RETURN_VALUE, Binding, Conflict, MaybeUnbound, Scope
from tilewright.frontend.structure import containers, made_by, parts
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import OUTSIDE, Iterated, Keywords, ListOf, Live, Val
from tilewright.tileir.diagnostics import TileTypeError

Container = ListOf | Keywords


def check_alone(t: Translator, name: str, container: Container, place: int | None) -> None:
    """TileTypeError where something besides `name` would have to show a change: of the item at a place, or of all."""
    word = "list" if isinstance(container, ListOf) else "dict"
    if OUTSIDE in container.made:
        raise TileTypeError(f"the {word} comes from outside this function, so it cannot be changed here",
                            hints=["make a new one, and return it: x + [v], or change a copy: x = list(x)"
                                   if word == "list" else "change a copy: x = dict(x)"])
    found = [other for other, value in _visible(t.scope) for _ in range(_times(value, container.made, place))]
    if len(found) > 1:
        others = [other for other in found if other != name]
        where = f"{others[0]} stands for it, too" if others else f"it stands in {name} more than once"
        raise TileTypeError(f"this {word} cannot be changed: {where}, and would have to change with it",
                            hints=[f"copy it where it gets its second place: {word}(x)"])
    if any(made_by(value) & container.made for value in t.held[:t.frame]):
        raise TileTypeError(f"this {word} cannot be changed here: the expression around has used it before",
                            hints=["change it in a statement of its own"])
    if not all(_passed(loop, container, place) for loop in t.iterated):
        raise TileTypeError(f"this {word} cannot be changed: a loop goes through it, and has not come here yet",
                            hints=[f"go through a copy: list(x{'' if word == 'list' else '.items()'})"])


def _visible(scope: Scope | None) -> list[tuple[str, Val]]:
    """The variables of this function and of those around it."""
    out: list[tuple[str, Val]] = []
    while scope is not None:
        out += [(name, binding.value) for name, binding in scope.vars.items()
                if name != RETURN_VALUE and not isinstance(binding.value, (Conflict, MaybeUnbound))]
        scope = scope.outer
    return out


def _times(value: Val, made: frozenset[int], place: int | None) -> int:
    """How often a list or dict stands in a value."""
    if isinstance(value, (ListOf, Keywords)) and value.made & made:
        return 1
    if isinstance(value, Live) and value.made & made:
        return 0 if value.keys and place is not None else 1
    return sum(_times(p, made, place) for p in parts(value))


def _passed(loop: Iterated, container: Container, place: int | None) -> bool:
    """Whether a loop has nothing before it that a change changes."""
    source = loop.source
    if any(container.made & made_by(item) for item in loop.items[loop.at + 1:]):
        return False
    if not (isinstance(source, (ListOf, Live)) and source.made & container.made):
        return True
    if place is None:
        return False
    if isinstance(source, Live) and source.keys:
        return True
    order = source.order if isinstance(source, Live) else 1
    length = len(container if isinstance(container, ListOf) else container.items)
    return place <= loop.at if order == 1 else order == -1 and place >= length - 1 - loop.at


Place = tuple[str, frozenset[int], frozenset[int]]  # a name, and what made the list or dict before and after a body


def check_round(
    t: Translator, assigned: Iterable[str], start: Mapping[str, Val], end: Mapping[str, Binding], first: int
) -> bool:
    """TileTypeError where a loop changes a list or dict that in another iteration has a second name, or is another's.

    `assigned`: the names that its body assigns; `start`: those that go round it, before it; `end`: after its body;
    `first`: its first change of all. True where the body leaves all apart that were apart before.
    """
    changes = frozenset().union(*t.changes[first:])
    outside = frozenset((OUTSIDE,))
    places: list[Place] = [("", outside, outside)]
    own = [name for name in assigned if name not in start]
    for name, value in _visible(t.scope):
        if name not in start and name not in own:
            places += [(name, made, made) for made in containers(value)]
    for name, before in start.items():
        pairs = zip(containers(before), containers(end[name].value), strict=True)
        places += [(name, *pair) for pair in pairs]
    met = [(one, other) for i, one in enumerate(places) for other in places[:i]
           if not one[1] & other[1] and one[2] & other[2]]
    for (name, before, _), (other, before_too, _) in met:
        if (before | before_too) & changes:
            also = f"{other} stand" if other not in ("", name) else "another place stands"
            raise TileTypeError(f"{name} and {also} for one list or dict at the end of a loop's body that changes it",
                                t.span(end[name].node), hints=["copy it: list(x), dict(x)"])
    return not met and not any(name in own and made_by(value) for name, value in _visible(t.scope))
