"""What the compiler says that it decided."""

from __future__ import annotations

from tilewright.tileir.core import Function


def told(function: Function, name: str) -> str:
    """All decisions of one name, "" where there is none."""
    return "; ".join(str(d).removeprefix(f"{name}: ") for d in function.decisions if d.name == name)
