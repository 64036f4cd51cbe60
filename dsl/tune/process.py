"""Timed runs in a process of their own, each with a limit on its time."""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import sys
import threading
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.launching.grid import Grid
from tilewright.tune.job import make_job

START_SECONDS = 120.0  # to start Python, initialise the GPU and upload the arguments
_PROGRAM = "import sys; sys.path[:] = {path!r}; from tilewright.tune.worker import main; main()"


class TileLaunchTimeoutError(RuntimeError):
    """A run of a configuration took longer than single_run_timeout_sec; its process was ended.

    Example:
        assert issubclass(ct.tune.TileLaunchTimeoutError, RuntimeError)
    """


class RemoteError(RuntimeError):
    """What a run raised in the other process; `type_name` is the name of the exception's class there."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(message)
        self.type_name = type_name


class Worker:
    """One process at a time; it is started when needed and ended after a failure, which may have broken it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask(self, message: tuple[Any, ...], seconds: float | None, late: str) -> tuple[Any, ...]:
        """The answer to a message. Raises TileLaunchTimeoutError(late) without one in time (None: it is waited for),
        RemoteError for an error, RuntimeError where the process has ended."""
        process = self._process or self._start()
        try:
            assert process.stdin is not None
            pickle.dump(message, process.stdin)
            process.stdin.flush()
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.end()
            raise TileLaunchTimeoutError(late) from None
        except OSError:
            answer = None
        except BaseException:
            self.end()
            raise
        if answer is None:
            status = process.wait()
            self.end()
            raise RuntimeError(f"the process that ran the kernel ended with status {status}")
        if answer[0] == "error":
            self.end()
            raise RemoteError(answer[1], answer[2])
        return tuple(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        program = _PROGRAM.format(path=sys.path)
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process, self._answers = process, queue.SimpleQueue()
        threading.Thread(target=_read, args=(process, self._answers), daemon=True).start()
        return process

    def end(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # what was not sent yet
                process.stdin.close()


def _read(process: subprocess.Popen[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Hand the answers on; None at the end. A thread of its own, because pipes have no reading with a limit."""
    assert process.stdout is not None
    with process.stdout as stream:
        while True:
            try:
                answers.put(pickle.load(stream))
            except (EOFError, OSError, pickle.UnpicklingError):
                answers.put(None)
                return


class RemoteRuns:
    """Runs of one configuration in the worker; called, it runs once and returns the microseconds.

    The arguments are copied there once; before each run what the kernel writes is put back.
    """

    def __init__(
        self, worker: Worker, kernel: tile_kernel, grid: Grid, args: tuple[Any, ...], stream: Any, seconds: float
    ) -> None:
        self._worker = worker
        self._seconds = seconds
        self._name = kernel.__name__
        job = make_job(kernel, grid, args, stream)
        late = f"the process for kernel {self._name} was not ready after {START_SECONDS:g} s"
        worker.ask(("job", job), START_SECONDS, late)

    def __call__(self) -> float:
        late = f"a run of kernel {self._name} took longer than {self._seconds:g} s"
        return float(self._worker.ask(("run",), self._seconds, late)[1])
