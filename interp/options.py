"""How a program runs: which blocks side by side, in which order, and on which memory."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.interp.memory import PLAIN, Memory

MODES = ("chunked", "single")


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """`mode`: "chunked" (many blocks at once) or "single" (one block after the other). `order` of single blocks: "asc"
    (None), "desc", or an int that seeds a random order. `poison`: undetermined padding is NaN (integers: 0x5A bytes)
    instead of zero. `memory`: what performs every access to arrays and shared buffers.

    A chunk has at most `chunk_blocks` blocks, and about `chunk_bytes` of live tiles: by measurement, smaller chunks pay
    more per closure, and larger ones miss the caches of a core (1 MiB, and a share of 32). `threads`: at most so many
    (None: what `threads.wanted` says).
    """

    mode: str = "chunked"
    order: str | int | None = None
    poison: bool = False
    memory: Memory = PLAIN
    chunk_blocks: int = 8192
    chunk_bytes: int = 4096 << 10
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f'mode must be "chunked" or "single", not {self.mode!r}')
        if not (self.order is None or isinstance(self.order, int) or self.order in ("asc", "desc")):
            raise ValueError(f'order must be "asc", "desc" or a seed, not {self.order!r}')

    @property
    def single(self) -> bool:
        """Must blocks run one after another?"""
        return self.mode == "single" or self.order is not None


DEFAULT = ExecutionOptions()
"""Chunks of blocks on plain memory."""
