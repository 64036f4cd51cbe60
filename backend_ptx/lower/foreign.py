"""Functions of other compilers: a call for each element."""

from __future__ import annotations

from functools import partial

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.registry import elementwise
from tilewright.tileir.foreign import known
from tilewright.tileir.ops import foreign as ops


@elementwise(ops.Foreign)
def foreign(b: Builder, op: ops.Foreign, *args: Val) -> Val:
    return b.each(partial(known(op.name).emit, b), *args)
