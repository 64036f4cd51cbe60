"""`python -m tilewright.cutile [--cpu] program.py [args]`: run a program that was written for cuTile."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from types import ModuleType, TracebackType

from tilewright.cutile import install


def main(argv: list[str] | None = None) -> int:
    """Run the program as `__main__`; the exit status, unless it exits by itself."""
    parser = argparse.ArgumentParser(prog="python -m tilewright.cutile", description="Run a program that was written "
                                     "for cuTile: import cuda.tile gives Tilewright.")
    parser.add_argument("--cpu", action="store_true", default=None,
                        help='run torch\'s device "cuda" and CuPy on the CPU, even where there is a GPU')
    parser.add_argument("-m", action="store_true", dest="module", help="the program is a module's name")
    parser.add_argument("program", help="a file, or with -m the name of a module")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the program's own arguments")
    options = parser.parse_args(argv)
    if not options.module and not Path(options.program).is_file():
        parser.error(f"there is no file {options.program}")
    install(cpu=options.cpu)
    sys.argv = [options.program, *options.args]
    try:
        if options.module:
            run_module(options.program)
        else:
            run_file(Path(options.program))
    except Exception as error:
        frames = _of_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        return 1
    return 0


def run_module(name: str) -> None:
    """The module as `python -m` runs it."""
    sys.path.insert(0, "")
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def run_file(path: Path) -> None:
    """The file as Python itself runs it: in a module `__main__`, with its folder on the path."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    vars(module)["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.path[0] = str(path.resolve().parent)
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """The frames from the program's own on; none for a mistake of its syntax."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        traceback = traceback.tb_next
    return traceback


if __name__ == "__main__":
    raise SystemExit(main())
