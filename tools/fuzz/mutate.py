"""Mutants of what is read from outside: `.tile` text, kernels and their arguments, command lines, cache entries.

Each may be refused with an error of ours (with a place, where it is about a kernel), or work. All else is a find.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.mutate_kernels import kernel
from fuzz.mutate_outside import cache, cli
from fuzz.mutate_tile import tile

KINDS: dict[str, Callable[[int], tuple[str, str]]] = {"tile": tile, "kernels": kernel, "cli": cli, "cache": cache}
