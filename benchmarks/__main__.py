"""`python -m benchmarks [group ...] [--json FILE]`: run groups of benchmarks and print ratios."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import platform
import sys
from pathlib import Path

from benchmarks._timing import Row

GROUPS = (
    "limits", "memory", "softmax", "norms", "transposes", "gemv", "matmul", "launch", "compile", "report", "interp",
)


def machine() -> str:
    """The device, driver and libraries that the figures belong to."""
    parts = [f"Python {platform.python_version()}"]
    try:
        import torch

        parts.append(f"torch {torch.__version__}")
        if torch.cuda.is_available():
            parts.append(torch.cuda.get_device_name())
    except ImportError:
        parts.append("no torch")
    version = Path("/proc/driver/nvidia/version")
    if version.exists():
        words = version.read_text().splitlines()[0].split()
        parts.append("driver " + next(w for w in words if w[:3].isdigit() and "." in w))
    return ", ".join(parts)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"any of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    print(machine())
    record: list[object] = []
    for group in options.groups or GROUPS:
        print(f"== {group}")
        for row in importlib.import_module(f"benchmarks.{group}").rows():
            print(row.text() if isinstance(row, Row) else row, flush=True)
            record.append(dataclasses.asdict(row) if isinstance(row, Row) else row)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": record}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
