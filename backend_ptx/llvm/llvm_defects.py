"""What LLVM 22's code generation makes wrong of the module that its passes leave, and what stands for it.

* A bitwise op of `<2 x i8>`, of which only lane 1 is wanted: the passes make lane 0 of a constant poison, and code
  generation takes the whole constant for poison once it sees the pair as one `i16`. `and` gives 0, `or` 255. Found by
  comparing random programs on an H100 with the interpreter (tools/fuzz). Wider vectors and elements keep their lanes.
"""

from __future__ import annotations

import re
from typing import Any

_HALF_KNOWN = re.compile(r"<(?:i8 poison, (i8 [-\d]+)|(i8 [-\d]+), i8 poison)>")


def without_defects(binding: Any, module: Any, text: str) -> Any:
    """The module, or another with whole constants in place of such halves. `text`: what it was parsed from."""
    if "<2 x i8>" not in text:
        return module
    text = str(module)
    whole = _HALF_KNOWN.sub(lambda found: f"<{found[1] or found[2]}, {found[1] or found[2]}>", text)
    return module if whole == text else binding.parse_assembly(whole)
