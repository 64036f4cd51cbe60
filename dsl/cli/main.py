"""The command line: `tilewright ir|llvm|ptx|sass|decisions FILE.py:kernel --args ...`, `run`, `cache`, `doctor`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import tilewright
from tilewright.backend_ptx.targets import TARGETS
from tilewright.cli.reading import UsageError, load_kernel, parse_args, parse_grid, split_args
from tilewright.tileir.diagnostics import TileError

ARGS_HELP = (
    "the kernel's arguments, separated by commas: arrays as dtype[extents] such as bf16[4096,4096] or f32[?,64], "
    "scalars as dtypes (i32, f32), values for Constant parameters as Python literals, lists as [f32[8],f32[8]], "
    "tuples as (1,f32[8])"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = make_parser().parse_args(argv)
    try:
        if sys.stdout is None:
            raise UsageError("there is no standard output to write to")
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is left would fail again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except UsageError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        return _unusable(error)
    except MemoryError as error:
        print(f"tilewright: out of memory{f': {error}' if str(error) else ''}", file=sys.stderr)
        return 1
    except (TileError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _unusable(error: OSError) -> int:
    """A file or folder that cannot be read or written, or a full disk, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    print(f"tilewright: {where}{error.strerror or error}", file=sys.stderr)
    with contextlib.suppress(OSError, ValueError):  # the output itself may be what is full
        sys.stdout.flush()
        return 1
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tilewright", description="Look inside tile kernels, and run IR dumps.")
    parser.add_argument("--version", action="version", version=f"tilewright {tilewright.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, what in (("ir", "Tile IR"), ("llvm", "LLVM IR"), ("ptx", "PTX"), ("sass", "machine code"),
                       ("decisions", "warps, instructions, rings and what else was decided for a target, and why")):
        verb = verbs.add_parser(name, help=f"print a kernel's {what}")
        verb.add_argument("kernel", metavar="FILE.py:kernel", help="the name may be left out where there is only one")
        verb.add_argument("--args", default="", help=ARGS_HELP)
        if name == "ir":
            verb.add_argument("--no-passes", action="store_true", help="as the frontend makes it, before any pass")
        else:
            verb.add_argument("--target", metavar="TARGET", choices=_target_names(),
                              help=f"{' or '.join(', '.join(TARGETS).rsplit(', ', 1))}; default: this GPU's")
        verb.set_defaults(run=_show, verb=name)
    doctor = verbs.add_parser("doctor", help="say what is installed, which GPU there is, and what is missing")
    doctor.set_defaults(run=_doctor)
    run = verbs.add_parser("run", help="run a Tile IR dump in the interpreter")
    run.add_argument("file", type=Path, metavar="FILE.tile")
    run.add_argument("--grid", required=True, help="blocks along x, y, z, such as 16 or 4,4")
    run.add_argument("--args", default="", help=RUN_HELP)
    run.add_argument("--seed", type=int, default=0, help="of generated inputs")
    run.add_argument("--out", type=Path, metavar="FOLDER", help="write every array that the kernel changed there")
    run.add_argument("--one-by-one", action="store_true", help="one block after the other")
    run.set_defaults(run=_run)
    cache = verbs.add_parser("cache", help="show or empty the disk cache of compiled kernels")
    actions = cache.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("log", help="list its kernels, last used first").set_defaults(run=_cache_log)
    actions.add_parser("clear", help="remove all of them").set_defaults(run=_cache_clear)
    return parser


RUN_HELP = (
    "the function's parameters, separated by commas: FILE.npy, dtype[extents] for random numbers, "
    "dtype[extents]:zeros, :ones or :arange, and Python literals for scalars"
)


def _target_names() -> list[str]:
    """The names of all targets, and those without the a at the end, which mean the same."""
    return list(dict.fromkeys([*TARGETS, *(name.rstrip("a") for name in TARGETS)]))


def _show(options: argparse.Namespace) -> None:
    kernel = load_kernel(options.kernel)
    args = parse_args(options.args)
    if options.verb == "ir":
        print(kernel.ir(*args, passes=not options.no_passes))
    elif options.verb == "decisions":
        from tilewright.inspecting.decisions import decisions

        print("\n".join(decisions(kernel, args, options.target)))
    else:
        print(getattr(kernel, options.verb)(*args, target=options.target))


def _doctor(options: argparse.Namespace) -> None:
    from tilewright.cli.doctor import main as examine

    examine()


def _cache_log(options: argparse.Namespace) -> None:
    from tilewright.cli.cachelog import show

    show()


def _cache_clear(options: argparse.Namespace) -> None:
    from tilewright.cli.cachelog import clear

    clear()


def _run(options: argparse.Namespace) -> None:
    from tilewright.cli.dumpfile import run_dump

    text = _read(options.file)
    changed = run_dump(text, str(options.file), parse_grid(options.grid), split_args(options.args), options.seed,
                       "single" if options.one_by_one else "chunked")
    for name, array in changed.items():
        print(f"{name}: {array.dtype.name}{list(array.shape)}\n{array}")
        if options.out is not None:
            import numpy

            options.out.mkdir(parents=True, exist_ok=True)
            numpy.save(options.out / f"{name}.npy", array)


def _read(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no file")  # to read a pipe would wait for a writer
    try:
        return path.read_text()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text") from None


if __name__ == "__main__":
    raise SystemExit(main())
