"""A headless Chromium, driven over the pipe of its DevTools protocol: pages, keys, pictures, and what went wrong.

The protocol: https://chromedevtools.github.io/devtools-protocol. Messages are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WAIT = 120.0  # seconds for an answer; a busy machine starts a browser in ten
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
           "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
           # As with a mouse, of which a machine without a desktop has none.
           "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
           "--remote-debugging-pipe")
# Chromium reads requests from descriptor 3 and writes answers to descriptor 4.
LAUNCHER = "import os, sys; a, b, *c = sys.argv[1:]; os.dup2(int(a), 3); os.dup2(int(b), 4); os.execv(c[0], c)"
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}
TEXT = {"Enter": "\r", " ": " "}

in_browser = pytest.mark.skipif(not os.environ.get("TILEWRIGHT_REQUIRE_BROWSER"),
                                reason="needs Chromium: make test-browser runs it")


def find_chromium() -> str:
    """The program. A test fails where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.fail("there is no Chromium: install the system's package (Debian: apt-get install chromium)", pytrace=False)


class Chromium:
    """A running browser. TimeoutError where it does not answer, RuntimeError for an error that it reports."""

    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]  # clear of 3 and 4
        program = [find_chromium(), *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *map(str, ends), *program], pass_fds=ends,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self._left = b""
        self._asked = 0
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str = "", **params: Any) -> Any:
        """Send a command; its result."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        while (answer := self.read()).get("id") != self._asked:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """The next event of this name; those that were seen before it count."""
        while True:
            for number, event in enumerate(self.events):
                if event["method"] == method and event.get("sessionId") == session:
                    return self.events.pop(number)
            self.events.append(self.read())

    def read(self) -> dict[str, Any]:
        """The next message."""
        end = time.monotonic() + WAIT
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"Chromium has not answered for {WAIT:.0f} seconds")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError(f"Chromium ended with code {self._process.wait()}")
            self._left += part
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            self.ask("Browser.close")
        os.close(self._to)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    @contextlib.contextmanager
    def page(
        self, url: str, *, own: str = "", width: int = 1400, height: int = 900, dark: bool = False
    ) -> Iterator[Page]:
        """A tab with this page, loaded; `width` and `height` in CSS pixels. `own`: how the addresses begin that it may
        load; without it the page alone."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        try:
            yield Page(self, session, url, own or url, (width, height), dark)
        finally:
            self.ask("Target.closeTarget", targetId=target)
            self.events.clear()


class Page:
    """A loaded page of a browser."""

    def __init__(self, browser: Chromium, session: str, url: str, own: str, size: tuple[int, int], dark: bool) -> None:
        self._browser, self._session, self._own = browser, session, own
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        self.resize(*size)
        self.go(url)

    def ask(self, method: str, **params: Any) -> Any:
        return self._browser.ask(method, self._session, **params)

    def go(self, url: str) -> None:
        """Load another page in the tab."""
        self.ask("Page.navigate", url=url)
        self._browser.wait("Page.loadEventFired", self._session)

    def resize(self, width: int, height: int) -> None:
        """The size of the window, in CSS pixels."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """What the body of an asynchronous function returns, as JSON. RuntimeError where it throws."""
        answer = self.ask("Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True,
                          returnByValue=True)
        if thrown := answer.get("exceptionDetails"):
            raise RuntimeError(thrown.get("exception", {}).get("description", thrown["text"]))
        return answer["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key of the keyboard, as the user presses it."""
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key],
                  "modifiers": 8 * shift}
        down = {"type": "keyDown", "text": TEXT[key]} if key in TEXT else {"type": "rawKeyDown"}
        self.ask("Input.dispatchKeyEvent", **down, **common)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """What is seen, as PNG; `whole`: also what is below the window's edge."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def wrong(self) -> list[str]:
        """Errors and warnings of the console, errors of scripts, and requests for what is not the page's own."""
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [told for event in own if (told := _wrong(event["method"], event["params"], self._own))]


def _wrong(method: str, params: dict[str, Any], own: str) -> str:
    """What an event says of an error; "" for others."""
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return str(details.get("exception", {}).get("description", details["text"]))
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        return f"console: {[one.get('value', one.get('description')) for one in params['args']]}"
    if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return f"log: {params['entry']['text']}"
    if method == "Network.requestWillBeSent":
        asked = str(params["request"]["url"])
        return "" if asked.startswith((own, "data:", "blob:")) else f"request: {asked}"
    return ""
