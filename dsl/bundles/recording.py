"""Recording: which kernels a run launches, with which kinds of arguments, as a bundle's spec."""

from __future__ import annotations

import contextlib
import enum
import json
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tilewright.arguments.bind import Argument, ArrayList, Const, Tuple, leaves
from tilewright.bundles.places import place_of
from tilewright.kernel import tile_kernel
from tilewright.launching import watching
from tilewright.launching.launcher import Launcher
from tilewright.launching.shipped import spelled
from tilewright.options import ByTarget
from tilewright.tileir.dtypes import DType
from tilewright.tileir.plan import Aliases
from tilewright.tracebacks import public


class LaunchRecording:
    """The kinds of launches that were made, each once, as lines of a spec."""

    def __init__(self) -> None:
        self._lines: dict[Any, tuple[Any, str, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._lines)

    def note(self, launch: watching.Launch, launcher: Launcher, grid: Any, args: tuple[Any, ...], stream: Any) -> None:
        """In the place of a launch, which it makes: only those that succeed are noted."""
        launch(launcher, grid, args, stream)
        specialiser = launcher._specialiser
        arguments = specialiser.bind(launcher.call.complete(args, {}))
        aliases = specialiser.aliases(arguments, facts=True)
        with self._lock:
            key = specialiser, aliases, tuple(argument.key(True) for argument in arguments)
            if key not in self._lines:
                function = getattr(specialiser.source, "function", None)
                self._lines[key] = function, _line(arguments, aliases), {
                    f.name: getattr(specialiser.hints, f.name) for f in fields(specialiser.hints)}

    @public
    def as_python(self, folder: Path | str = ".", targets: Sequence[str] = ("sm_90a",)) -> str:
        """The source of a spec, whose file is to lie in the folder."""
        out = ['"""What a run has launched."""', "", "import tilewright as tw", "",
               f"spec = tw.bundles.BundleSpec(targets={json.dumps(list(targets))})"]
        for function, line, hints in self._lines.values():
            out.append(_added(function, line, hints, Path(folder).resolve()))
        return "\n".join(out) + "\n"

    @public
    def write(self, path: Path | str, targets: Sequence[str] = ("sm_90a",)) -> None:
        """Write the spec's source to a file, aside and renamed."""
        from tilewright.compilation.writing import write_file

        write_file(Path(path), self.as_python(Path(path).resolve().parent, targets).encode())


def _added(function: Any, line: str, hints: dict[str, Any], folder: Path) -> str:
    """The call that adds one kind of launch; a comment where another process could not find the kernel."""
    if function is None:
        return f"# left out: no kernel of a Python function ({line})"
    try:
        where, own = place_of(function, folder), _own_hints(function)
    except LookupError as error:
        return f"# left out: {error} ({line})"
    changed = [f"{name!r}: {_literal(value)}" for name, value in hints.items() if value != getattr(own, name)]
    options = "hints={" + ", ".join(changed) + "}" if changed else ""
    return f"spec.add({', '.join(filter(None, [json.dumps(where), line, options]))})"


def _own_hints(function: Any) -> Any:
    """Those of the kernel that the function's name stands for. LookupError where it stands for something else."""
    found: Any = None
    for number, part in enumerate(function.__qualname__.split(".")):
        found = getattr(found, part, None) if number else function.__globals__.get(part)
    found = getattr(found, "kernel", found)  # an autotuned one holds the kernel
    if not isinstance(found, tile_kernel) or getattr(found.specialiser.source, "function", None) is not function:
        raise LookupError(f"{function.__qualname__} is not the name of the kernel any more")
    return found.hints


def _line(arguments: Sequence[Argument], aliases: Aliases) -> str:
    """The arguments of `add`."""
    names = [leaf.name for leaf in leaves(arguments)]
    words = [*map(_spelled, arguments)]
    if aliases.same:
        words.append(f"same={[(names[later], names[earlier]) for later, earlier in aliases.same]!r}")
    if aliases.groups:
        words.append(f"overlapping={[tuple(names[k] for k in group) for group in aliases.groups]!r}")
    return ", ".join(words)


def _spelled(argument: Argument) -> str:
    if isinstance(argument, Const):
        return _literal(argument.value)
    if isinstance(argument, Tuple):
        return f"({', '.join(map(_spelled, argument.items))}{',' * (len(argument.items) == 1)})"
    if isinstance(argument, ArrayList):
        return f"[{', '.join(map(_spelled, argument.items))}]"
    return json.dumps(spelled(argument))


def _literal(value: Any) -> str:
    """A constant as the source of a spec has it, where `tw` is tilewright."""
    if isinstance(value, DType):
        return f"tw.{value.name}"
    if isinstance(value, enum.Enum):
        return f"tw.{type(value).__name__}.{value.name}"
    if isinstance(value, ByTarget):
        return f"tw.{value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


@contextlib.contextmanager
def _recorded(recording: LaunchRecording) -> Iterator[LaunchRecording]:
    watching.watch(recording.note)
    try:
        yield recording
    finally:
        watching.unwatch(recording.note)


def record() -> contextlib.AbstractContextManager[LaunchRecording]:
    """A context that notes the kernels that are launched, in any thread, on a GPU or in the interpreter, each kind of
    arguments once: `tilewright build --record SCRIPT.py -o SPEC.py` does it for a script.

    Result: of its `with`, a LaunchRecording: `as_python()` is the source of a bundle's spec, `write("spec.py")` writes
        it. Kernels are named by module or file, those that another process could not find in comments. Extents stand
        for what is known of them (multiples of 16): the code takes all such arrays.

    Example:
        @ct.tile_kernel
        def double(x, n: ct.Constant[int]):
            ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), n) * 2.0)

        with ct.bundles.record() as recording:
            for length in (1024, 2048, 1000):
                double[(8,)](np.ones(length, np.float32), 256)
        print(len(recording))  # 2
    """
    return _recorded(LaunchRecording())
