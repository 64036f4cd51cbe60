"""What a comparison has found, as text with the source line and as an object for JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewright.tileir.diagnostics import NO_SPAN, Span, TileError, render

Coordinates = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first op that is wrong.

    What stopped a side (a race, say) has no values: then `block` is empty, and so are the rest.

    Attributes: `op`, its name in Tile IR, `text`, its line there; `span`, the source line; `side`, "a" or "b": whose
        result it is that is wrong; `block` and `iterations` (of the loops around it, from outside) of the first wrong
        result, `element` of it the first wrong index; `a`, `b`, that element on both sides, `want` what it should be
        (None: not known); `operands`, of each operand `(name, on a, on b)`; `sure`: the op was executed again on the
        operands that this side had.
    """

    op: str
    text: str
    span: Span
    side: str
    block: Coordinates
    iterations: Coordinates
    element: Coordinates
    a: Any
    b: Any
    want: Any
    operands: tuple[tuple[str, Any, Any], ...]
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` has found; `str()` of it is a report with the source line.

    Attributes: `equal`, whether both sides give the same, within what the classes of the ops allow; `exact`, whether
        to the bit; `a`, `b`, the names of the sides; `outputs`, of each argument that differs `(name, number of
        elements, first index, on a, on b)`; `first`, the first op that is wrong, a `Difference`, or None;
        `made_by`, the pass behind which the IR computes what the wrong side does, "lowering" where it is none of them,
        "" where that was not looked for; `notes`, how it was found; `error`, what stopped a side; `folder`, if saved.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 128) * 2.0)

        found = ct.compare(double, (2,), np.ones(200, np.float32), a="simulator:sm_80")
        print(found)  # kernel double: simulator:sm_80 and interpreter give equal bits
    """

    kernel: str
    a: str
    b: str
    equal: bool
    exact: bool = False
    outputs: tuple[tuple[str, int, Coordinates, Any, Any], ...] = ()
    first: Difference | None = None
    made_by: str = ""
    notes: tuple[str, ...] = ()
    error: Exception | None = field(default=None, compare=False)
    folder: str = ""

    def __str__(self) -> str:
        head = f"kernel {self.kernel}: {self.a} and {self.b}"
        if self.equal:
            lines = [f"{head} give equal {'bits' if self.exact else 'results: ops differ by less than they may'}"]
            return "\n".join([*lines, *(f"  = note: {note}" for note in self.notes)])
        lines = [f"{head} differ"]
        for name, count, index, one, other in self.outputs:
            elements = f"{count} elements differ" if count > 1 else "no other element differs"
            lines.append(f"  {name}{list(index)} is {one} and {other}: {elements}")
        notes = [*self.notes, *([f"saved in {self.folder}"] if self.folder else [])]
        if self.error is not None:
            lines.append(str(self.error))
            notes += [f"op: {self.first.text}"] if self.first is not None else []
        if self.first is None or self.error is not None:
            return "\n".join([*lines, *(f"  = note: {note}" for note in notes)])
        return "\n".join([*lines, _rendered(self.first, notes)])

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        first = None
        if self.first is not None:
            found = self.first
            place = None if found.span is NO_SPAN else {
                "file": found.span.file, "line": found.span.line, "column": found.span.col + 1}
            first = {
                "op": found.op, "text": found.text, "place": place, "side": found.side, "block": list(found.block),
                "iterations": list(found.iterations), "element": list(found.element), "a": str(found.a),
                "b": str(found.b), "want": None if found.want is None else str(found.want), "sure": found.sure,
                "operands": [{"name": name, "a": str(a), "b": str(b)} for name, a, b in found.operands]}
        outputs = [{"name": name, "elements": count, "index": list(index), "a": str(one), "b": str(other)}
                   for name, count, index, one, other in self.outputs]
        return {"kernel": self.kernel, "a": self.a, "b": self.b, "equal": self.equal, "exact": self.exact,
                "outputs": outputs, "first": first, "made_by": self.made_by, "notes": list(self.notes),
                "error": None if self.error is None else str(self.error), "folder": self.folder or None}


def _rendered(found: Difference, notes: list[str]) -> str:
    """The op at its source line."""
    where = f"block {found.block}"
    if found.iterations:
        where += f", iteration {', '.join(map(str, found.iterations))}"
    element = f", element {list(found.element)}" if found.element else ""
    verb = "is wrong" if found.sure else "is the first whose results differ"
    values = f"a has {found.a}, b has {found.b}"
    if found.want is not None and found.sure:
        values += f"; from its operands follows {found.want}"
    told = [f"{where}{element}: {values}"]
    told += [f"operand {name}: a has {a}, b has {b}" for name, a, b in found.operands]
    error = TileError(f"{found.op} {verb} in {found.side}", found.span, notes=[*told, f"op: {found.text}", *notes])
    return render(error)
