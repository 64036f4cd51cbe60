"""The checked mode: a memory that reports undefined accesses and races, and values that remember what is undefined.

`CheckedMemory` sees every access of a launch; `CheckedLowering` adds what no access shows: promises, undefined values,
loops that do not end. Both write `Report`s. docs/checking.md says what users see of it.
"""

from tilewright.interp.checking.memory import CheckedMemory
from tilewright.interp.checking.report import CHECKS, DEFAULT_CHECKS, Report

__all__ = ["CHECKS", "DEFAULT_CHECKS", "CheckedMemory", "Report"]
