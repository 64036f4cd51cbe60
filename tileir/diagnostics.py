"""Source spans, the one family of user-facing errors, and the renderer with source lines and carets."""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.tileir.records import record


@record
class Span:
    """A place in a source file. Lines count from 1, columns from 0 (as `ast` counts); `end_col` is exclusive.

    `call_site` is the span of the call through which an inlined helper was entered.
    """

    file: str = "<none>"
    line: int = 0
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    function: str = ""
    call_site: Span | None = None

    @property
    def filename(self) -> str:
        return self.file

    @property
    def chain(self) -> list[Span]:
        """This span and the calls that led to it, outermost first."""
        out: list[Span] = []
        span: Span | None = self
        while span is not None:
            out.append(span)
            span = span.call_site
        return out[::-1]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"


NO_SPAN = Span()


@record
class Related:
    """A second place that an error speaks of, underlined with dashes."""

    span: Span
    label: str


@dataclass(slots=True)
class Subject:
    """The part of a call that an error is about: whoever knows where it stands underlines it.

    `argument` is a parameter's name, `number` the place among those that a *parameter takes, `item` the entry of a
    tuple; `keyword` is the name of an argument that was given by name.
    """

    argument: str = ""
    number: int = 0
    item: int | None = None
    keyword: str = ""


class TileError(Exception):
    """Anything that is wrong with a kernel or its use. `str(error)` is the message and the source lines it is about.

    Attributes: `message`, the text alone; `loc`, the place: `file`, `line` (from 1), `col` (from 0), `end_line`,
        `end_col`, `function`, and `call_site`, the place of the call through which a helper was entered; `notes`,
        facts; `hints`, what to do.
    """

    # Rules raise it without a span; the innermost `at(span)` adds one.
    headline = "error"

    def __init__(
        self, message: str, span: Span = NO_SPAN, *, label: str = "", related: Sequence[Related] = (),
        notes: Sequence[str] = (), hints: Sequence[str] = (), subject: Subject | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.label = label
        self.related = list(related)
        self.notes = list(notes)
        self.hints = list(hints)
        self.subject = subject if subject is not None else Subject()

    @property
    def loc(self) -> Span:
        return self.span

    def __str__(self) -> str:
        return render(self)


class TileSyntaxError(TileError):
    """Python syntax outside the kernel language, or a name that is not defined."""


class TileTypeError(TileError):
    """Types, shapes or arguments that do not fit."""


class TileValueError(TileError):
    """A constant that is out of range or otherwise unusable."""


class TileRecursionError(TileError):
    """Inlining of helpers went too deep."""


class TileUnsupportedFeatureError(TileError):
    """Something that the chosen target or executor cannot do."""


class TileStaticEvalError(TileError):
    """The expression of a static_eval, static_assert or static_iter failed."""


class TileStaticAssertionError(TileError):
    """A static_assert that does not hold."""


class TileAssertionError(TileError):
    """An assert_ that does not hold while the interpreter runs; on a GPU it aborts the program."""

    headline = "assertion failed"


class TileSimulationError(TileError):
    """The simulator has found the code for a GPU wrong: a race, an access out of range, a deadlock. `kind` names it,
    `threads` are some of those at fault."""

    headline = "simulation failed"

    def __init__(
        self, message: str, span: Span = NO_SPAN, *, kind: str = "", threads: Sequence[int] = (),
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(message, span, notes=notes)
        self.kind = kind
        self.threads = tuple(threads)


class TileInternalError(TileError):
    """A defect of Tilewright itself; never a user's mistake."""

    headline = "internal error"


class TileCompilerExecutionError(TileInternalError):
    """LLVM or the driver's assembler refused what we generated."""


class TileCompilerTimeoutError(TileError):
    """A compilation did not finish within the limit of `compiler_timeout`."""


class CheckError(TileError):
    """A checked launch has found errors. `reports` has each of them, and what was found beside
    ([fields](checking.md#how-to-ask-for-it)); the text shows them with their source lines."""

    def __init__(self, message: str, span: Span = NO_SPAN, *, reports: Sequence[Any] = ()) -> None:
        super().__init__(message, span)
        self.reports = tuple(reports)

    def __str__(self) -> str:
        if len(self.reports) == 1:  # whose first line the message repeats
            return "\n".join([self.message, *str(self.reports[0]).split("\n")[1:]])
        return "\n".join([self.message, *(f"\n{report}" for report in self.reports)])


class CheckWarning(UserWarning):
    """A warning, not an error: what a checked launch has found that need not be wrong; with `on_report="warn"` its
    errors, too."""


class UnsupportedCallError(TileError):
    """A call of a Python function or type that kernels cannot use."""


class KernelFunctionError(RuntimeError):
    """A function of the kernel language was called where its operands have no values; `function` is its name."""

    def __init__(self, message: str, function: str) -> None:
        super().__init__(message)
        self.function = function


@contextlib.contextmanager
def at(span: Span) -> Iterator[None]:
    """Give errors raised inside a span, unless an inner `at` already did."""
    try:
        yield
    except TileError as error:
        if error.span is NO_SPAN:
            error.span = span
        raise


_CALLED: dict[str, str] = {}
"""By file: under which name it has the package. The frontend notes it of each file whose functions it reads."""


def note_name(file: str, name: str) -> None:
    """Have errors in a file call the package by the name that the file gives it."""
    _CALLED[file] = name


def in_words_of(file: str, text: str) -> str:
    """A text, which is written for `import tilewright as ct`, under the name that a file gives the package; else tw."""
    return re.sub(r"\bct\.(?=[A-Za-z])", f"{_CALLED.get(file, 'tw')}.", text)


# Of a longer chain of calls only the ends are shown; an error shall fit into 15 lines, Python's own four included.
_MOST_FRAMES, _FIRST_FRAMES, _LAST_FRAMES = 3, 1, 2


def render(error: TileError) -> str:
    """The error as text: headline, call frames outermost first with source and carets, notes and hints."""
    lines = [f"{error.headline}: {in_words_of(error.span.file, error.message)}"]
    if error.span is not NO_SPAN:
        frames = error.span.chain
        hidden = len(frames) - _FIRST_FRAMES - _LAST_FRAMES if len(frames) > _MOST_FRAMES else 0
        shown = [*frames[:_FIRST_FRAMES], *frames[-_LAST_FRAMES:]] if hidden else frames
        gutter = max(len(str(s.end_line or s.line)) for s in [*frames, *(r.span for r in error.related)])
        crowded = len(shown) + len(error.related) > 2
        for depth, span in enumerate(shown[:-1]):
            lines += _frame(span, gutter, "" if crowded else "^", "called from here")
            if hidden and depth == _FIRST_FRAMES - 1:
                lines.append(f"{' ' * gutter} ... {hidden} more calls")
        main = _frame(frames[-1], gutter, "^", error.label)
        lines += main[:1] + main[2:] if crowded else main
        for related in error.related:
            lines += _frame(related.span, gutter, "" if crowded else "-", related.label)
    lines += [f"  = note: {note}" for note in error.notes]
    lines += [f"  = hint: {in_words_of(error.span.file, hint)}" for hint in error.hints]
    return "\n".join(lines)


def _frame(span: Span, gutter: int, mark: str, label: str) -> list[str]:
    """A place with its source, and a line of marks under it; without marks the label follows the place."""
    pad = " " * gutter
    last = span.end_line or span.line
    where = f"{span.line}-{last}" if last > span.line else str(span.line)
    columns = f"{span.col + 1}" if last > span.line else f"{span.col + 1}-{max(span.end_col, span.col + 1)}"
    inside = f" in {span.function}" if span.function else ""
    out = [f'{pad}--> "{span.file}", line {where}, columns {columns}{inside}']
    if label and not mark:
        out[0] += f": {label}"
    source = linecache.getline(span.file, span.line).rstrip("\n")
    if not source.strip():
        return out
    if not mark:
        return [*out, f"{span.line:>{gutter}} | {source.expandtabs(4)}"]
    end = span.end_col if last == span.line and span.end_col > span.col else len(source)
    caret = " " * len(source[: span.col].expandtabs(4)) + mark * max(1, len(source[span.col : end].expandtabs(4)))
    out.append(f"{pad} |")
    out.append(f"{span.line:>{gutter}} | {source.expandtabs(4)}")
    out.append(f"{pad} | {caret}{' ' + label if label else ''}")
    return out
