"""As much of the Language Server Protocol as it takes to ask a server for hover texts and completions."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Self

import pytest

SECONDS = 60.0  # a server that has not answered by then is ended
PATIENCE = 50  # so often a server is asked again that knows nothing of a name


class Server:
    """A language server in a process of its own, for the files of one folder and one Python."""

    def __init__(self, command: list[str], folder: Path, python: str) -> None:
        self.folder = folder
        self.python = python
        self.sent = 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=folder)
        self.limit = threading.Timer(SECONDS, self.process.kill)
        self.limit.start()

    def __enter__(self) -> Self:
        answer = self.request("initialize", processId=os.getpid(), rootUri=self.folder.as_uri(),
                              capabilities={"workspace": {"configuration": True, "workspaceFolders": True}},
                              workspaceFolders=[{"uri": self.folder.as_uri(), "name": "user"}])
        if answer is None:
            self.__exit__()
            pytest.skip("the language server does not start here")
        self.notify("initialized")
        return self

    def __exit__(self, *error: object) -> None:
        self.limit.cancel()
        self.process.kill()
        self.process.communicate()

    def open(self, name: str, text: str) -> None:
        self.notify("textDocument/didOpen", textDocument={
            "uri": (self.folder / name).as_uri(), "languageId": "python", "version": 1, "text": text})

    def hover(self, name: str, line: int, column: int) -> str:
        """What the server knows once it has asked for its settings: until then an import may be unknown to it."""
        for _ in range(PATIENCE):
            answer = self._at("textDocument/hover", name, line, column)
            text = str(answer["contents"]["value"]) if answer else ""
            if text and "Unknown" not in text:
                break
            time.sleep(0.2)
        return text

    def completions(self, name: str, line: int, column: int) -> set[str]:
        answer = self._at("textDocument/completion", name, line, column)
        return {item["label"] for item in answer["items"]}

    def _at(self, method: str, name: str, line: int, column: int) -> Any:
        """The answer about a place; both numbers count from 0."""
        return self.request(method, textDocument={"uri": (self.folder / name).as_uri()},
                            position={"line": line, "character": column})

    def notify(self, method: str, **parameters: Any) -> None:
        self._send({"method": method, "params": parameters})

    def request(self, method: str, **parameters: Any) -> Any:
        """The result of a request; None where the server has ended."""
        self.sent += 1
        number = self.sent
        self._send({"id": number, "method": method, "params": parameters})
        while (message := self._receive()) is not None:
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": self._answer(message)})
            elif message.get("id") == number:
                return message.get("result")
        return None

    def _answer(self, request: dict[str, Any]) -> Any:
        """What an editor answers to the server's own requests: its settings."""
        if request["method"] != "workspace/configuration":
            return None
        return [{"pythonPath": self.python} if item.get("section") == "python" else {}
                for item in request["params"]["items"]]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return dict(json.loads(self.process.stdout.read(length))) if length else None
