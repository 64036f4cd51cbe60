"""`python -m mutants.session FILE`: the tests that a file lists, part by part, until one fails, in one process.

pytest collects every file it is given before it runs a test. Most mutants fail one of the first few tests, so these are
a part of their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


def main(file: str) -> int:
    parts, options = json.loads(Path(file).read_text())
    for part in parts:
        status = pytest.main([*options, *part])
        if status != pytest.ExitCode.OK:
            return int(status)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
