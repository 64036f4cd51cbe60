"""What an op or a function of the language lacks, in words that say which file it belongs into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import language_evidence
import language_table

import tilewright as ct
import tilewright.backend_ptx.lower.families  # noqa: F401
import tilewright.backend_ptx.ops  # noqa: F401
import tilewright.frontend
import tilewright.interp.handlers  # noqa: F401
import tilewright.tileir.derivatives  # noqa: F401
from tilewright.backend_ptx.lower.reduce import COMBINERS
from tilewright.backend_ptx.lower.registry import LOWERINGS, REFUSALS
from tilewright.frontend.calls.call import SYNTAX_FORMS
from tilewright.frontend.calls.registry import RULES
from tilewright.interp.lowering import HANDLERS
from tilewright.tileir.core import OPS, Op
from tilewright.tileir.derivatives.rules import ADJOINTS, REFUSED
from tilewright.tileir.ops.reduce import REDUCTIONS

# Rules that users write in another way than as a function: the name of their cells.
WRITTEN = {
    "positive": "operator unary +", "invert": "operator ~", "logical_not": "operator not", "range": "builtin range",
    "len": "builtin len", "int": "builtin int", "float": "builtin float", "bool": "builtin bool",
    "tuple": "builtin tuple", "str": "builtin str", "repr": "builtin repr", "getattr": "getattr with a constant name",
    "enumerate": "builtin enumerate", "zip": "builtin zip", "isinstance": "builtin isinstance",
    "replace": "dataclasses.replace", "dtype": "int8",
}


def omissions() -> list[str]:
    """All that is missing, one sentence each."""
    return [*op_omissions(), *function_omissions()]


def op_omissions() -> Iterator[str]:
    """Ops that an executor does not know. Ops that tests declare for themselves do not count."""
    ours = [cls for cls in OPS.values() if cls.__module__.startswith("tilewright.")]
    for opcode in HANDLERS.missing(ours):
        yield f"{opcode} has no handler in the interpreter: write it in interp/handlers/{_family(OPS[opcode])}"
    for opcode in set(LOWERINGS.missing(ours)) & set(REFUSALS.missing(ours)):
        yield f"{opcode} has no lowering: write it, or refuse the op, in backend_ptx/lower/{_family(OPS[opcode])}"
    tile_ops = [cls for cls in ours if ".tileir.ops." in cls.__module__ and not cls._io]
    for opcode in set(ADJOINTS.missing(tile_ops)) - REFUSED.keys():
        yield (f"{opcode} has no adjoint: write it in tileir/derivatives/{_family(OPS[opcode])}, or the reason in "
               "tileir/derivatives/refused.py")
    for opcode in COMBINERS.missing(kind for kind in REDUCTIONS.values() if kind.merged_by is None):
        yield f"{opcode} has no lowering: COMBINERS in backend_ptx/lower/reduce.py lacks how two fragments become one"


def function_omissions() -> Iterator[str]:
    """Functions of kernels without stub, rule, row in the contract, or executed cell."""
    public = set(ct.language.__all__)
    stubs = {name for name in public if hasattr(getattr(ct, name), "__tilewright_builtin__")}
    listed = {name for names in language_table.CONTRACT.values() for name in names.split()}
    for name in sorted(stubs - RULES.keys() - SYNTAX_FORMS.keys()):
        yield f"{name} has a stub and no rule: write it in frontend/calls/"
    for name in sorted(public - listed):
        yield f"{name} has no row in the contract: add it to CONTRACT in tools/language_table.py"
    for name in RULES:
        if not (name in public or name in WRITTEN or "." in name or name.startswith("builtin ")):
            yield f"{name} has no stub: write it in dsl/language/ and add it to __all__ there and in the package's list"
        if not language_evidence.is_shown(WRITTEN.get(name, name)):
            yield f"{name} has no executed cell: add it to tests/catalogue/cells/"


def _family(cls: type[Op]) -> str:
    return Path(cls.__module__.replace(".", "/")).name + ".py"
