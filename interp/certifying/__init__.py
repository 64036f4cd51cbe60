"""What the bits of a kernel's outputs depend on, for all launches: block order, grid, and the other rows of a batch.

    certificate = certify(function)         # of Tile IR after the passes
    certificate.outputs["out"].block_order.holds

A property is stated only where the IR shows it; everything else is `not shown`, with the reason and its line. Two
slices of the program do that. `slices.py` asks what a stored value is computed from: where it is a function of the
element alone, it does not matter which block computes it, and when (`order.py`; races are the prover's). `rows.py`
follows one axis of an output through the ops, which must keep its elements apart. `trees.py` lists what is combined, in
which order, as evidence. docs/checking.md says what users see of it.
"""

from tilewright.interp.certifying.certificate import Batch, Certificate, Judgement, Output, Tree
from tilewright.interp.certifying.certify import certify

__all__ = ["Batch", "Certificate", "Judgement", "Output", "Tree", "certify"]
