"""All that certificates say of the kernels whose dependences are known, as a golden; lines count from the kernel's."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from support.certificate_kernels import CASES

import tilewright as tw
from tilewright.inspecting.certificate import certify_kernel

pytest.importorskip("z3")
GOLDEN = Path(__file__).parent / "golden" / "certificates.txt"


def test_what_certificates_say(update_golden: bool) -> None:
    out = []
    for function, grid, make in CASES:
        first = inspect.getsourcelines(function)[1]
        text = str(certify_kernel(tw.tile_kernel(function), make(), grid))
        numbered = re.sub(r"lines? \d+( and \d+)?", lambda match, first=first: re.sub(
            r"\d+", lambda number: str(int(number[0]) - first), match[0]), text)
        out += [function.__name__, numbered]
    text = "\n".join(out) + "\n"
    if update_golden:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
