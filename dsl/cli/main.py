"""The command line: `tilewright ir|llvm|ptx|sass|decisions FILE.py:kernel --args ...`, `run`, `cache`, `doctor`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import tilewright
from tilewright.backend_ptx.targets import TARGETS
from tilewright.cli.answers import Answer, UsageError, of_error, place_of
from tilewright.cli.reading import load_kernel, parse_args, parse_grid, split_args
from tilewright.tileir.diagnostics import NO_SPAN, TileError
from tilewright.tileir.plan import Decision

ARGS_HELP = (
    "the kernel's arguments, separated by commas: arrays as dtype[extents] such as bf16[4096,4096] or f32[?,64], "
    "scalars as dtypes (i32, f32), values for Constant parameters as Python literals, lists as [f32[8],f32[8]], "
    "tuples as (1,f32[8])"
)
JSON_HELP = "print one JSON object, for an error too; its fields are listed below"


class WrongWords(UsageError):
    """Words that the parser of a command refuses."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """A parser whose errors come as exceptions."""

    def error(self, message: str) -> NoReturn:
        raise WrongWords(self, message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in words
    command: str | None = None
    try:
        options = make_parser().parse_args(words)
        command, as_json = options.command, options.json
        if sys.stdout is None:
            raise UsageError("there is no standard output to write to")
        with _prints_as_errors() if as_json else contextlib.nullcontext():
            answer: Answer = options.run(options)
        if as_json:
            print(answer.as_json(command))
        else:
            answer.show()
        sys.stdout.flush()
        return answer.status
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is left would fail again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except WrongWords as wrong:
        if not as_json:
            argparse.ArgumentParser.error(wrong.parser, str(wrong))
        return _failed(wrong, command, as_json)
    except (UsageError, OSError, MemoryError, TileError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        return _failed(error, command, as_json)


@contextlib.contextmanager
def _prints_as_errors() -> Iterator[None]:
    """What kernels print goes to the standard error; the driver of a GPU writes to the file descriptor."""
    sys.stdout.flush()
    output, errors = os.dup(1), os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(2)
    os.dup2(errors, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.close(errors)


def _failed(error: Exception, command: str | None, as_json: bool) -> int:
    """Tell an error; the exit status."""
    status = 2 if isinstance(error, UsageError) else 1
    text = _told(error)
    if as_json and sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):  # where the output itself is what fails: as without --json
            print(of_error(command, error, status, text), flush=True)
            return status
    print(text, file=sys.stderr)
    if isinstance(error, OSError):
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _told(error: Exception) -> str:
    """An error in words; what is wrong with files, folders and words takes one line."""
    match error:
        case UsageError():
            return f"tilewright: {error}"
        case OSError():  # a file or folder that cannot be read or written, or a full disk
            return f"tilewright: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
        case MemoryError():
            return f"tilewright: out of memory{f': {error}' if str(error) else ''}"
    return str(error)


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="tilewright", description="Look inside tile kernels, and run IR dumps.")
    parser.add_argument("--version", action="version", version=f"tilewright {tilewright.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_stages(verbs)
    explore = verbs.add_parser("explore", help="write a page that shows a kernel at every stage, linked line by line")
    explore.add_argument("kernel", metavar="FILE.py:kernel", help="the name may be left out where there is only one")
    explore.add_argument("--args", default="", help=ESTIMATE_HELP)
    explore.add_argument("--grid", help="blocks along x, y, z, for what each block reads and writes; not needed where "
                                        "the kernel's decorator gives them")
    explore.add_argument("--target", metavar="TARGET", choices=_target_names(), help="as for ptx")
    explore.add_argument("--run", action="store_true", dest="run_it",
                         help="run the kernel too, on the GPU if there is one, and show the time and what it wrote")
    explore.add_argument("-o", "--out", type=Path, required=True, metavar="PAGE.html", help="where to write it")
    _command(explore, "explore", _explore)
    simulate = verbs.add_parser("simulate", help="run a kernel's GPU code on the CPU and check what its threads do")
    simulate.add_argument("kernel", metavar="FILE.py:kernel", help="the name may be left out where there is only one")
    simulate.add_argument("--grid", required=True, help="blocks along x, y, z, such as 16 or 4,4")
    simulate.add_argument("--args", default="", help=SIMULATE_HELP)
    simulate.add_argument("--target", metavar="TARGET", choices=_target_names(), help="as for ptx")
    simulate.add_argument("--schedule", choices=("inorder", "random"), default="inorder",
                          help="warps side by side, or one at a time in an order that the seed chooses")
    simulate.add_argument("--seed", type=int, default=0, help="of generated inputs and of the order")
    _command(simulate, "simulate", _simulate)
    _add_estimate(verbs)
    _add_profile(verbs)
    _add_check(verbs)
    _add_compare(verbs)
    _add_build(verbs)
    doctor = verbs.add_parser("doctor", help="say what is installed, which GPU there is, and what is missing")
    _command(doctor, "doctor", _doctor)
    run = verbs.add_parser("run", help="run a Tile IR dump in the interpreter")
    run.add_argument("file", type=Path, metavar="FILE.tile")
    run.add_argument("--grid", required=True, help="blocks along x, y, z, such as 16 or 4,4")
    run.add_argument("--args", default="", help=RUN_HELP)
    run.add_argument("--seed", type=int, default=0, help="of generated inputs")
    run.add_argument("--out", type=Path, metavar="FOLDER", help="write every array that the kernel changed there")
    run.add_argument("--one-by-one", action="store_true", help="one block after the other")
    _command(run, "run", _run)
    cache = verbs.add_parser("cache", help="show or empty the disk cache of compiled kernels")
    actions = cache.add_subparsers(required=True, metavar="ACTION")
    _command(actions.add_parser("log", help="list its kernels, last used first"), "cache log", _cache_log)
    _command(actions.add_parser("clear", help="remove all of them"), "cache clear", _cache_clear)
    return parser


def _add_compare(verbs: Any) -> None:
    compare = verbs.add_parser("compare", help="run a kernel in two ways, and find the first op whose results differ")
    compare.add_argument("kernel", metavar="FILE.py:kernel", help="or a folder that --save has written")
    compare.add_argument("--grid", help="blocks along x, y, z, such as 16 or 4,4")
    compare.add_argument("--args", default="", help=SIMULATE_HELP)
    compare.add_argument("--a", default="gpu", metavar="SIDE", help="gpu, interpreter, interpreter:single, frontend, "
                         "simulator:TARGET or machine:TARGET")
    compare.add_argument("--b", default="interpreter", metavar="SIDE", help="as for --a")
    compare.add_argument("--seed", type=int, default=0, help="of generated inputs")
    compare.add_argument("--save", type=Path, metavar="FOLDER", help="write what is needed to see a difference again")
    _command(compare, "compare", _compare)


def _add_build(verbs: Any) -> None:
    build = verbs.add_parser("build", help="compile the kernels of a spec into a folder that programs load, or write "
                                           "the spec of what a script launches (docs/shipping.md)")
    build.add_argument("file", type=Path, metavar="SPEC.py", help="a file with a BundleSpec; with --record a script")
    build.add_argument("-o", "--out", type=Path, required=True, metavar="PATH",
                       help="the folder; with --record the spec")
    build.add_argument("--target", action="append", dest="targets", metavar="TARGET", choices=_target_names(),
                       help="in the place of the spec's; may be given several times")
    build.add_argument("--record", action="store_true", help="run a script, and write what it launches as a spec")
    build.add_argument("--args", default="", help="with --record: the words of the script's command line")
    _command(build, "build", _build)


def _add_estimate(verbs: Any) -> None:
    estimate = verbs.add_parser("estimate", help="say what a launch moves and computes, and what bounds it on a GPU")
    estimate.add_argument("kernel", metavar="FILE.py:kernel", help="the name may be left out where there is only one")
    estimate.add_argument("--grid", help="blocks along x, y, z; not needed where the kernel's decorator gives them")
    estimate.add_argument("--args", default="", help=ESTIMATE_HELP)
    estimate.add_argument("--gpu", default="h200", help="h200, h100, a100, a40, l40, b200 or rtx-pro-6000")
    estimate.add_argument("--sweep", metavar="N=1024,4096", help="an estimate for each number, which stands for the "
                          "name in --args and --grid: f32[N], N/256 (rounded up); N=1024:65536 doubles")
    estimate.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the roofline, by matplotlib")
    _command(estimate, "estimate", _estimate)


def _add_profile(verbs: Any) -> None:
    profile = verbs.add_parser("profile", help="run a script, and say what its launches cost, move and compute")
    profile.add_argument("script", metavar="FILE.py")
    profile.add_argument("--args", default="", help="the words of the script's command line")
    profile.add_argument("--gpu", help="whose limits to hold launches against, as for estimate; default: the one that "
                                       "they run on")
    profile.add_argument("--trace", type=Path, metavar="FILE.json", help="write a trace for ui.perfetto.dev")
    profile.add_argument("--roofline", type=Path, metavar="FILE.png", help="write a picture, by matplotlib")
    _command(profile, "profile", _profile)


def _add_stages(verbs: Any) -> None:
    """The commands that print a kernel at one stage, and what was decided."""
    for name, what in (("ir", "Tile IR"), ("llvm", "LLVM IR"), ("ptx", "PTX"), ("sass", "machine code"),
                       ("decisions", "warps, instructions, rings and what else was decided for a target, and why")):
        verb = verbs.add_parser(name, help=f"print a kernel's {what}")
        verb.add_argument("kernel", metavar="FILE.py:kernel", help="the name may be left out where there is only one")
        verb.add_argument("--args", default="", help=ARGS_HELP)
        if name == "ir":
            verb.add_argument("--no-passes", action="store_true", help="as the frontend makes it, before any pass")
            verb.add_argument("--spans", action="store_true", help="each op with its place in the source")
        else:
            verb.add_argument("--target", metavar="TARGET", choices=_target_names(),
                              help=f"{' or '.join(', '.join(TARGETS).rsplit(', ', 1))}; default: this GPU's")
        if name in ("llvm", "ptx"):
            verb.add_argument("--lineinfo", action="store_true", help="with the lines of the source")
        if name == "sass":
            verb.add_argument("--lines", action="store_true", help="each instruction with its line of the source")
        _command(verb, name, _decisions if name == "decisions" else _show)


def _command(parser: argparse.ArgumentParser, name: str, run: Callable[[argparse.Namespace], Answer]) -> None:
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    parser.set_defaults(command=name, run=run)


RUN_HELP = (
    "the function's parameters, separated by commas: FILE.npy, dtype[extents] for random numbers, "
    "dtype[extents]:zeros, :ones or :arange, and Python literals for scalars"
)


SIMULATE_HELP = (
    "the kernel's arguments, separated by commas: FILE.npy, dtype[extents] for random numbers, dtype[extents]:zeros, "
    ":ones or :arange, Python literals, lists as [..,..], tuples as (..,..)"
)


ESTIMATE_HELP = (
    "the kernel's arguments, separated by commas: arrays as dtype[extents], or where their contents decide what is "
    "read as FILE.npy or dtype[extents]:zeros, :ones, :arange or :random; Python literals; lists and tuples of those"
)


def _target_names() -> list[str]:
    """The names of all targets, and those without the a at the end, which mean the same."""
    return list(dict.fromkeys([*TARGETS, *(name.rstrip("a") for name in TARGETS)]))


def _add_check(verbs: Any) -> None:
    check = verbs.add_parser("check", help="run a script, or one kernel, with every launch checked (docs/checking.md)")
    check.add_argument("where", metavar="FILE.py[:kernel]", help="without a kernel the file runs as a script")
    check.add_argument("--grid", help="of a kernel: blocks along x, y, z; not needed where its decorator gives them")
    check.add_argument("--args", default="", help="of a kernel: as for simulate; of a script: the words of its command "
                                                  "line")
    check.add_argument("--checks", default="1", help='what to check: "all", or names separated by commas, such as '
                                                     "bounds,races; default: all but numerics and cancellation")
    check.add_argument("--seed", type=int, default=0, help="of generated inputs")
    check.add_argument("--prove", action="store_true", help="of a kernel: decide bounds and races for all launches; "
                                                            "--args and --grid are an example")
    check.add_argument("--certify", action="store_true", help="of a kernel: which outputs depend on the order of "
                       "blocks, the grid or other rows; --args and --grid as for --prove")
    _command(check, "check", _check)


def _show(options: argparse.Namespace) -> Answer:
    kernel = load_kernel(options.kernel)
    args = parse_args(options.args)
    if options.command == "ir":
        text = kernel.ir(*args, passes=not options.no_passes, spans=options.spans)
        return Answer({"kernel": kernel.__name__, "text": text}, lambda: print(text))
    lines = {name: getattr(options, name) for name in ("lineinfo", "lines") if name in options}
    text = getattr(kernel, options.command)(*args, target=options.target, **lines)
    target = kernel.lower(*args, target=options.target).target.name
    return Answer({"kernel": kernel.__name__, "target": target, "text": text}, lambda: print(text))


def _decisions(options: argparse.Namespace) -> Answer:
    from tilewright.inspecting.decisions import find

    kernel = load_kernel(options.kernel)
    target, found = find(kernel, parse_args(options.args), options.target)
    rows = [{"name": made.name, "value": made.value, "reason": made.reason, "place": place_of(made.span)}
            for made in found]
    return Answer({"kernel": kernel.__name__, "target": target, "decisions": rows},
                  lambda: print(f"target: {target}", *map(_told_at_line, found), sep="\n"))


def _told_at_line(made: Decision) -> str:
    place = "" if made.span is NO_SPAN else f" [{Path(made.span.file).name}:{made.span.line}]"
    return f"{made}{place}"


def _explore(options: argparse.Namespace) -> Answer:
    from tilewright.cli.explore import explored

    return explored(options.kernel, options.args, options.grid, options.target, options.out, options.run_it)


def _estimate(options: argparse.Namespace) -> Answer:
    from tilewright.cli.estimate import answer

    return answer(options.kernel, options.args, options.grid, options.gpu, options.sweep, options.plot)


def _profile(options: argparse.Namespace) -> Answer:
    from tilewright.cli.profile import answer

    return answer(options.script, options.args, options.gpu, options.trace, options.roofline)


def _simulate(options: argparse.Namespace) -> Answer:
    from tilewright.cli.simulate import simulated

    return simulated(load_kernel(options.kernel), parse_grid(options.grid), options.args, options.target,
                     options.schedule, options.seed)


def _check(options: argparse.Namespace) -> Answer:
    if options.prove:
        from tilewright.cli.prove import proved

        return proved(options.where, options.args, options.grid)
    if options.certify:
        from tilewright.cli.certify import certified

        return certified(options.where, options.args, options.grid)
    from tilewright.cli.checked import checked

    return checked(options.where, options.args, options.grid, options.seed, options.checks)


def _build(options: argparse.Namespace) -> Answer:
    from tilewright.cli.build import built, recorded

    if options.record:
        return recorded(options.file, options.args, options.out, options.targets)
    return built(options.file, options.out, options.targets)


def _compare(options: argparse.Namespace) -> Answer:
    from tilewright.cli.compare import compared

    return compared(options.kernel, options.grid, options.args, options.a, options.b, options.seed, options.save)


def _doctor(options: argparse.Namespace) -> Answer:
    from tilewright.cli.doctor import answer

    return answer()


def _cache_log(options: argparse.Namespace) -> Answer:
    from tilewright.cli.cachelog import log

    return log()


def _cache_clear(options: argparse.Namespace) -> Answer:
    from tilewright.cli.cachelog import clear

    return clear()


def _run(options: argparse.Namespace) -> Answer:
    from tilewright.cli.dumpfile import answer, run_dump

    grid = parse_grid(options.grid)
    name, changed = run_dump(_read(options.file), str(options.file), grid, split_args(options.args), options.seed,
                             "single" if options.one_by_one else "chunked")
    return answer(name, grid, changed, options.out)


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
