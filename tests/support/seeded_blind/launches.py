"""What a seeded kernel is launched with, and what its repaired twin leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Launch:
    """One launch, for the kernel with the defect and for its twin alike.

    `want` maps places among the arguments to what the twin leaves there; `verify` looks at arguments where no array
    says it all.
    """

    grid: tuple[int, ...]
    args: tuple[Any, ...]
    want: Mapping[int, np.ndarray] = field(default_factory=dict)
    tolerance: float = 1e-5
    verify: Callable[..., bool] | None = None

    def holds(self) -> bool:
        """Whether the arguments are what a right kernel leaves of them."""
        for place, want in self.want.items():
            if not np.allclose(self.args[place], want, rtol=self.tolerance, atol=self.tolerance):
                return False
        return self.verify is None or self.verify(*self.args)
