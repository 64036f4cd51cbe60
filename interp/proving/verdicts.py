"""What a proof says: one verdict for each access and for each pair that might race, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tilewright.tileir.diagnostics import NO_SPAN, Related, Span, TileError, render

PROVED, REFUTED, UNDECIDED = "proved", "refuted", "not decided"


@dataclass(frozen=True)
class Verdict:
    """`kind` is "bounds" or "race"; `status` is "proved", "refuted" or "not decided".

    `assuming`: what a proof takes for granted of the launch. `example`: what a launch has to choose so that it goes
    wrong, by the user's names (`grid[0]`, `x.shape[0]`, a scalar argument); `block` and `other_block` meet there.
    """

    kind: str
    status: str
    what: str
    span: Span = NO_SPAN
    related: Span | None = None
    reason: str = ""
    assuming: tuple[str, ...] = ()
    example: dict[str, int] = field(default_factory=dict)
    block: tuple[int, ...] | None = None
    other_block: tuple[int, ...] | None = None

    def __str__(self) -> str:
        notes = [self.reason] if self.reason else []
        if self.example:
            notes.append("for example with " + ", ".join(f"{name} = {value}" for name, value in self.example.items()))
        if self.block is not None:
            blocks = f"block {self.block}" if self.other_block is None \
                else f"blocks {self.block} and {self.other_block}"
            notes.append(f"then in {blocks}")
        if self.assuming:
            notes.append("assuming " + ", ".join(self.assuming))
        related = [Related(self.related, "the other access")] if self.related not in (None, NO_SPAN) else []
        error = TileError(self.what, self.span, notes=notes, related=related)
        error.headline = f"{self.status} ({self.kind})"
        return render(error)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "status": self.status, "what": self.what, "place": _place(self.span),
                "other_place": None if self.related is None else _place(self.related), "reason": self.reason,
                "assuming": list(self.assuming), "example": self.example, "block": self.block,
                "other_block": self.other_block}


def _place(span: Span) -> dict[str, Any] | None:
    if span is NO_SPAN:
        return None
    return {"file": span.file, "line": span.line, "column": span.col + 1}


@dataclass(frozen=True)
class Proof:
    """All verdicts of a kernel."""

    verdicts: tuple[Verdict, ...]

    @property
    def in_bounds(self) -> tuple[int, int]:
        """How many accesses are proved in bounds, of how many."""
        return _share(v for v in self.verdicts if v.kind == "bounds")

    @property
    def race_free(self) -> bool:
        return all(v.status == PROVED for v in self.verdicts if v.kind == "race")

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for v in self.verdicts for text in v.assuming))

    @property
    def refuted(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.status == REFUTED)


def _share(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    found = list(verdicts)
    return sum(v.status == PROVED for v in found), len(found)
