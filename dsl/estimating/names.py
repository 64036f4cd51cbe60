"""Words and numbers that counting and results share."""

from __future__ import annotations

READ, WRITTEN, ATOMIC = "read", "written", "atomic"
SECTOR = 32  # bytes
# Of L2 what surely holds data: GPUs of two partitions keep what both read twice.
USABLE = 0.5
