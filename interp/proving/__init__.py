"""Proofs about all launches of a kernel: no access out of bounds, no race between blocks.

    verdicts = prove(function, known)       # one for each access, and one for each pair that might race

Index arithmetic becomes formulas over block numbers, loop variables, extents and scalar arguments (`terms.py`,
`rules.py`), accesses become regions of arrays (`accesses.py`), and z3 decides whether an index can be outside
(`bounds.py`) or two blocks can meet (`races.py`). What a proof takes for granted, such as that two arrays are equally
long, is found where it is not given, and named (`contract.py`). docs/checking.md says what users see of it.
"""

from tilewright.interp.proving.contract import Known
from tilewright.interp.proving.proofs import prove
from tilewright.interp.proving.verdicts import Proof, Verdict

__all__ = ["Known", "Proof", "Verdict", "prove"]
