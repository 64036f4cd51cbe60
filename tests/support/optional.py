"""Packages that are no dependency: tests of what needs them are skipped without, or fail where they are required."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

from tilewright.backend_ptx.runtime.ptxas import has_ptxas

needs_ptxas = pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")


def optional(name: str) -> Any:
    """The module; the test file that asks for it is skipped without. Where TILEWRIGHT_REQUIRE names it (as in make
    test-torch) its absence is an error."""
    if name in os.environ.get("TILEWRIGHT_REQUIRE", "").split():
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed; make test-{name} runs these tests")
