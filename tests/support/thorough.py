"""What of long sets of cases runs always: a part of each, or with TILEWRIGHT_THOROUGH all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

THOROUGH = bool(os.environ.get("TILEWRIGHT_THOROUGH"))


def part(cases: Sequence[T], step: int) -> Sequence[T]:
    """Each `step`-th case; with TILEWRIGHT_THOROUGH all."""
    return cases[:: 1 if THOROUGH else step]
