"""`python -m benchmarks [group ...] [--json FILE] [--roofline FILE]`: run groups of benchmarks and print ratios."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import platform
import sys
import traceback
from pathlib import Path

GROUPS = (
    "groups",
    "limits", "memory", "softmax", "norms", "persistent", "plain_rows", "transposes", "gemv", "matmul", "steps",
    "fused", "attention", "plain_attention", "decode", "launch", "cold_start", "compile", "report", "interp",
    "in_place", "counters",
    "library", "integration", "exports", "derivatives", "fusion",
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
    parser.add_argument("--roofline", type=Path, help="also draw them under the limits (png, svg, pdf)")
    options = parser.parse_args(argv)
    print(machine())
    record: list[object] = []
    failed: list[str] = []
    for group in options.groups or GROUPS:
        print(f"== {group}")
        try:
            for row in importlib.import_module(f"benchmarks.{group}").rows():
                print(row if isinstance(row, str) else row.text(), flush=True)
                record.append(row if isinstance(row, str) else dataclasses.asdict(row))
        except (Exception, SystemExit) as error:  # the other groups still run
            failed.append(group)
            record.append(f"{group}: {type(error).__name__}: {error}")
            traceback.print_exc()
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": record}, indent=1))
    if options.roofline:
        draw_roofline(record, options.roofline)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def draw_roofline(record: list[object], file: Path) -> None:
    """The limits are measured now where no group has."""
    from benchmarks import limits
    from benchmarks.roofline import draw, is_limit

    if not any(is_limit(row) for row in record):
        record = [*record, *map(dataclasses.asdict, limits.rows())]
    draw([row for row in record if isinstance(row, dict) and "times" in row], machine(), file)


if __name__ == "__main__":
    main(sys.argv[1:])
