"""Places in the user's source, as the page refers to them."""

from __future__ import annotations

from tilewright.tileir.diagnostics import Span

Chain = tuple[tuple[str, int], ...]
"""(file, line) of an op, then those of the calls that led to it, the innermost first; empty: unknown."""


def chain_of(span: Span) -> Chain:
    """The chain of a place; the empty one for what has none."""
    return tuple((part.file, part.line) for part in reversed(span.chain)) if span.line else ()


class Numbering:
    """Numbers of files and chains, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.chains: dict[Chain, int] = {}

    def __call__(self, chain: Chain) -> int:
        """The number of a chain; -1 for an unknown place."""
        for path, _ in chain:
            self.files.setdefault(path, len(self.files))
        return self.chains.setdefault(chain, len(self.chains)) if chain else -1
