"""What the playground's page asks of Python, in Pyodide: a program is a file, and a question is a command about it.

Imports nothing but Tilewright and the standard library, and NumPy only where the program does.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import traceback
from pathlib import Path
from types import TracebackType

FILE = Path("program.py")
sys.dont_write_bytecode = True  # a program that changes twice within a second is another one


def answer(question: str, source: str, kernel: str, arguments: str, target: str) -> str:
    """What is printed for a question: "run", "ir", "decisions", or "versions", which needs no program."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            if question == "versions":
                versions()
            elif question == "run":
                run(source)
            else:
                command(question, source, kernel, arguments, target)
        except SystemExit as end:
            print(end.code if isinstance(end.code, str) else "")
        except BaseException as error:
            print("".join(traceback.format_exception(type(error), error, users_part(error))))
    return out.getvalue().rstrip()


def run(source: str) -> None:
    FILE.write_text(source)
    exec(compile(source, str(FILE), "exec"), {"__name__": "__main__", "__file__": str(FILE)})


def users_part(error: BaseException) -> TracebackType | None:
    """The traceback from the program's own first line on; all of it where the program has none in it."""
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename != str(FILE):
        found = found.tb_next
    return found or error.__traceback__


def command(name: str, source: str, kernel: str, arguments: str, target: str) -> None:
    """A command of the command line about the program's kernel."""
    from tilewright.cli.main import main

    FILE.write_text(source)
    words = [name, f"{FILE}:{kernel}" if kernel else str(FILE), "--args", arguments]
    main([*words, "--target", target] if name == "decisions" else words)


def versions() -> None:
    """What is here, a line each."""
    import tilewright

    print(f"Python {sys.version.split()[0]}, Tilewright {tilewright.__version__}")
    for name in ("numpy", "ml_dtypes"):
        here = importlib.util.find_spec(name) is not None
        print(f"{name}: {'here' if here else 'not in this build, so kernels are compiled and not run'}")
