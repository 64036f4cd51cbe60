"""The instruction table as text: what each record emits, its effects, and the least target and PTX version."""

from __future__ import annotations

from pathlib import Path

from tilewright.backend_ptx.instructions import warpgroup
from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.table import instructions

GOLDEN = Path(__file__).parent / "golden" / "instructions.txt"

# wgmma is made on demand: each kind, from registers and shared memory, of each way that an operand can lie.
MADE = [
    *(warpgroup.wgmma(n, kind, *how, steps=steps) for kind in warpgroup.KINDS
      for n, how, steps in ((8, (), 1), (16, (None,), 2))),
    *(warpgroup.wgmma(16, "bf16", a, b, 4) for a in (False, True) for b in (False, True)),
    warpgroup.wgmma(24, "f16", None, True, 4),
    warpgroup.wgmma_wait_tied(0, 4), warpgroup.wgmma_wait_tied(1, 2, 3), warpgroup.wgmma(8, "bf16", fenced=True),
]


def described(record: Instruction) -> str:
    flags = [name for name in ("reads", "writes", "ordered", "convergent") if getattr(record, name)]
    facts = ", ".join(f"{name}={value}" for name, value in record.facts.items())
    least = f"sm_{record.sm}{'a' if record.exact else ''}, PTX {record.ptx / 10}"
    return (f"{record.name}: {record.meaning}({facts}) {' '.join(flags)}; {least}\n"
            f'    {record.asm} "{record.constraints}"')


def test_the_table(update_golden: bool) -> None:
    text = "\n".join(map(described, [*instructions().values(), *MADE])) + "\n"
    if update_golden:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
