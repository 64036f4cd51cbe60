"""The documentation's site in a headless Chromium: it loads fast, asks no other host, and axe-core finds nothing in it.

`make test-browser` has the site built by `make docs`, and runs these.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.axe import violations
from support.chromium import Chromium, in_browser

pytestmark = in_browser

SITE = Path(__file__).parents[1] / "build" / "site"
PAGES = ("index.html", "lessons/01-vector-add.html", "reference/methods.html", "examples.html", "examples/matmul.html",
         "explorer.html")
TIMES = "const [at] = performance.getEntriesByType('navigation'); return at.loadEventStart;"
# Milliseconds from the request to the load event, in the best of some tries: others may keep the machine busy.
MOST, TRIES = 1000, 10


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site, served on this machine."""
    assert (SITE / "index.html").is_file(), "there is no site in build/site: make docs"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_the_first_page_loads_in_a_second(chromium: Chromium, site: str) -> None:
    took = []
    for _ in range(TRIES):
        with chromium.page("about:blank") as shown:
            shown.ask("Network.setCacheDisabled", cacheDisabled=True)
            shown.go(f"{site}index.html")
            took.append(float(shown.run(TIMES)))
        if took[-1] < MOST:
            break
    print(f"the first page loads in {min(took):.0f} ms")
    assert 0 < min(took) < MOST, took


@pytest.mark.parametrize(("name", "dark"), [
    *((name, False) for name in PAGES), *((name, True) for name in PAGES[:3])])
def test_nothing_is_wrong_with_a_page(chromium: Chromium, site: str, name: str, dark: bool) -> None:
    """No error on the console, no request to another host, no violation of axe-core's rules."""
    with chromium.page(f"{site}{name}", own=site, dark=dark) as shown:
        assert shown.run("return getComputedStyle(document.body).backgroundColor") not in ("", "rgba(0, 0, 0, 0)")
        assert shown.wrong() == []
        assert violations(shown) == []


def test_the_search_finds_a_function(chromium: Chromium, site: str) -> None:
    with chromium.page(f"{site}index.html", own=site) as shown:
        found = shown.run("""
            const box = document.querySelector("input[name=query]"); box.focus();
            for (const key of "cumsum") {
              box.value += key;
              box.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
              await new Promise((done) => setTimeout(done, 30));
            }
            for (let tries = 0; tries < 400; tries++) {
              const links = [...document.querySelectorAll(".md-search-result__link")].map((link) => link.href);
              if (links.length) return links;
              await new Promise((done) => setTimeout(done, 50));
            }
            return [];
        """)
        assert any("reductions-and-scans" in link for link in found), found
        assert shown.wrong() == []
