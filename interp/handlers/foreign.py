"""Functions of other compilers, by the meaning that their declarations give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir.foreign import known, meaning
from tilewright.tileir.ops import foreign


@impl(foreign.Foreign)
def foreign_(op: foreign.Foreign, low: Lowering) -> Callable[..., Any]:
    compute = meaning(known(op.name))
    formats, out = [format_of(value.type.dtype) for value in op.args], format_of(op.dtype)
    return lambda *args: out.decode(compute(*(f.encode(x) for f, x in zip(formats, args, strict=True))))
