"""What tells one version of a kernel from another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tilewright.launching.specialise import Specialiser
from tilewright.tileir.plan import Aliases
from tilewright.tileir.printer import to_text


def digest_of(specialiser: Specialiser, arguments: Sequence[Any], aliases: Aliases) -> str:
    """What tells whether a binary was made from a kernel: its Tile IR as the source makes it, with all helpers and
    captured values."""
    function = specialiser.translate(arguments, facts=True, aliases=aliases)
    return hashlib.sha256(to_text(function, spans=False).encode()).hexdigest()
