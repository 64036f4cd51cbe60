"""The text around a kernel's body: data layout, kernel attributes, declarations, debug lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.llvm.builder import Builder
from tilewright.tileir.diagnostics import NO_SPAN, Span

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
TRIPLE = "nvptx64-nvidia-cuda"


@dataclass
class KernelText:
    """Everything of a module that is not an instruction.

    `params` are (LLVM type with attributes, name). `threads` is the block size. `min_blocks` bounds
    the registers that ptxas may choose (0: no bound). `cluster` is the number of CTAs of a cluster (1: none).
    """

    name: str
    params: Sequence[tuple[str, str]]
    threads: int
    min_blocks: int = 0
    cluster: int = 1

    def text(self, builder: Builder, debug: DebugLines | None = None) -> str:
        """The whole module."""
        params = ", ".join(f"{t} %{n}" for t, n in self.params)
        tag = f" {debug.subprogram}" if debug else ""
        parts = [f'target datalayout = "{DATA_LAYOUT}"', f'target triple = "{TRIPLE}"', *builder.head()]
        parts.append(f"define ptx_kernel void @{self.name}({params}) #0{tag} {{")
        parts.append(builder.text() + "}")
        parts += self._attributes(builder)
        parts.append("!0 = !{}")
        if debug:
            parts += debug.metadata()
        return "\n".join(parts) + "\n"

    def _attributes(self, builder: Builder) -> list[str]:
        cluster = f"{self.cluster},1,1" if self.cluster > 1 else ""
        known = {"maxntid": self.threads, "minctasm": self.min_blocks, "cluster_dim": cluster}
        words = " ".join(f'"nvvm.{name}"="{value}"' for name, value in known.items() if value)
        lines = [f"attributes #0 = {{ nounwind {words} }}"]
        return [*lines, "attributes #1 = { convergent nounwind }"] if builder.convergent else lines


class DebugLines:
    """Debug metadata that makes LLVM print `.loc` directives and nothing else (DebugDirectivesOnly).

    What comes from a helper says so, and which call it was inlined at.
    """

    FIRST = 10

    def __init__(self, name: str, span: Span) -> None:
        self._lines: list[str] = []
        self._numbers: dict[object, int] = {}
        self._kernel = span
        file = self._file(span.file)
        self._unit = self._add(f'distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, producer: "tilewright", '
                               "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)")
        self._kind = self._add("!DISubroutineType(types: !0)")
        self._program = self._subprogram(name, file, span.line)

    def _add(self, text: str) -> int:
        self._lines.append(text)
        return self.FIRST + len(self._lines) - 1

    def _once(self, key: object, make: Callable[[], str]) -> int:
        if key not in self._numbers:
            text = make()  # may add what it refers to
            self._numbers[key] = self._add(text)
        return self._numbers[key]

    @property
    def subprogram(self) -> str:
        return f"!dbg !{self._program}"

    def tail(self, span: Span, loop: Span = NO_SPAN) -> str:
        """What an instruction made for `span` carries: `, !dbg !N`, and the start of the loop that it closes."""
        start = ""
        if loop is not NO_SPAN:
            place = self._location(loop, "")
            start = f", !llvm.loop !{self._add(f'distinct !{{!{self.FIRST + len(self._lines)}, !{place}}}')}"
        return f"{start}, !dbg !{self._location(span, '')}"

    def _location(self, span: Span, distinct: str) -> int:
        def make() -> str:
            call = span.call_site
            inlined = "" if call is None else f", inlinedAt: !{self._location(call, 'distinct ')}"
            line, column = max(span.line, 1), span.col + 1
            return f"{distinct}!DILocation(line: {line}, column: {column}, scope: !{self._scope(span)}{inlined})"

        return self._once((span, distinct), make)

    def _scope(self, span: Span) -> int:
        if span.call_site is not None:
            key = span.file, span.function
            if key not in self._numbers:
                self._numbers[key] = self._subprogram(span.function, self._file(span.file), max(span.line, 1))
            return self._numbers[key]
        if span.file == self._kernel.file:
            return self._program
        file = self._file(span.file)
        return self._once(
            (span.file, None), lambda: f"!DILexicalBlockFile(scope: !{self._program}, file: !{file}, discriminator: 0)")

    def _subprogram(self, name: str, file: int, line: int) -> int:
        return self._add(
            f'distinct !DISubprogram(name: "{_quote(name)}", scope: !{file}, file: !{file}, line: {line}, '
            f"type: !{self._kind}, unit: !{self._unit}, spFlags: DISPFlagDefinition | DISPFlagOptimized)")

    def _file(self, path: str) -> int:
        folder, _, name = path.replace("\\", "/").rpartition("/")
        return self._once(path, lambda: f'!DIFile(filename: "{_quote(name)}", directory: "{_quote(folder)}")')

    def metadata(self) -> list[str]:
        numbered = [f"!{self.FIRST + i} = {line}" for i, line in enumerate(self._lines)]
        flag = self.FIRST + len(self._lines)
        return [*numbered, f'!{flag} = !{{i32 2, !"Debug Info Version", i32 3}}',
                f"!llvm.dbg.cu = !{{!{self._unit}}}", f"!llvm.module.flags = !{{!{flag}}}"]


def _quote(text: str) -> str:
    return re.sub(rb'[^ -~]|["\\]', lambda byte: b"\\%02X" % byte[0][0], text.encode()).decode()
