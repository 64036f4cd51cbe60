"""What axe-core finds wrong with a page for those who read it by keyboard, screen reader or with weak eyes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.chromium import Page

# Where `make test-browser` puts it, if there is npm.
LIBRARY = Path(__file__).parents[2] / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """
const found = await axe.run(%s, { resultTypes: ["violations"] });
return [found.passes.length, found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`)];
"""


def violations(page: Page, prepare: str = "", part: str = "") -> list[str]:
    """Rule and first element of each violation, after a script has brought the page into the state to check; with
    `part`, a selector, in that part alone. Skips the test where axe-core is not installed."""
    if not LIBRARY.is_file():
        pytest.skip("accessibility is not checked: make test-browser installs axe-core where there is npm")
    context = f"document.querySelector({part!r})" if part else "document"
    passed, found = page.run(f"if (!window.axe) {{ {LIBRARY.read_text()} }}\n{prepare}\n{CHECK % context}")
    assert passed > 3, f"axe-core checked next to nothing: {passed} rules"
    return [str(one) for one in found]
