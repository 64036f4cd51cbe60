"""`tilewright profile`: run a script, and say what its launches cost, move and compute."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from tilewright.cli.answers import Answer
from tilewright.cli.checked import as_data, run_script, told
from tilewright.profiling.profile import Profile
from tilewright.profiling.table import told as table


def answer(script: str, words: str, gpu: str | None, trace: Path | None, roofline: Path | None) -> Answer:
    """What the command says; the exit status is 1 where the script ends with an error."""
    profile = Profile(gpu)
    with profile:
        stopped = run_script(Path(script), shlex.split(words))
    if trace is not None:
        profile.save_trace(trace)
    if roofline is not None:
        profile.save_roofline(roofline)
    data = {"file": script, **profile.as_data(), "stopped": as_data(stopped, script)}

    def show() -> None:
        wide = sys.stdout.isatty()
        print(table(profile, shutil.get_terminal_size().columns if wide else None, wide))
        for path in filter(None, (trace, roofline)):
            print(f"wrote {path}")
        if stopped is not None:
            print(f"{script} stopped early:\n{told(stopped, script)}", file=sys.stderr)

    return Answer(data, show, status=int(stopped is not None))
