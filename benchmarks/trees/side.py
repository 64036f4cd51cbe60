"""One checkout's process, which answers requests."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

WORKER = Path(__file__).resolve().with_name("worker.py")
PACKAGES = ("build/typing", ".", "tools", "examples")


class Failed(Exception):
    """What one side could not do."""


class Side:
    """One checkout's process, which ends with the `with` statement."""

    def __init__(self, root: Path, worker: Path = WORKER) -> None:
        subprocess.run([sys.executable, "tools/link_tree.py"], cwd=root, check=True)
        paths = [*(str(root / p) for p in PACKAGES), os.environ.get("PYTHONPATH", "")]
        # The key of the disk cache does not tell two checkouts of one version apart.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "TILEWRIGHT_CACHE_DIR": "0"}
        self._process = subprocess.Popen([sys.executable, str(worker)], cwd=root, env=environment,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, do: str, **request: Any) -> Any:
        try:
            print(json.dumps({"do": do, **request}), file=_pipe(self._process.stdin), flush=True)
            line = _pipe(self._process.stdout).readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"error": "its process ended"}
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["is"]

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        self._process.wait()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
