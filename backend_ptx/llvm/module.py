"""The text around a kernel's body: data layout, kernel attributes, declarations, debug lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.llvm.builder import Builder
from tilewright.tileir.diagnostics import Span

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
    """Debug metadata that makes LLVM print `.loc` directives and nothing else (DebugDirectivesOnly)."""

    FIRST = 10

    def __init__(self, name: str, span: Span) -> None:
        self._lines: list[str] = []
        self._locations: dict[tuple[str, int, int], str] = {}
        self._scopes: dict[str, int] = {}
        self._file = self._add(_file(span.file))
        self._unit = self._add(
            f'distinct !DICompileUnit(language: DW_LANG_C, file: !{self._file}, producer: "tilewright", '
            "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)"
        )
        kind = self._add("!DISubroutineType(types: !0)")
        self._program = self._add(
            f'distinct !DISubprogram(name: "{name}", scope: !{self._file}, file: !{self._file}, '
            f"line: {span.line}, type: !{kind}, unit: !{self._unit}, "
            "spFlags: DISPFlagDefinition | DISPFlagOptimized)"
        )
        self._scopes[span.file] = self._program

    def _add(self, text: str) -> int:
        self._lines.append(text)
        return self.FIRST + len(self._lines) - 1

    @property
    def subprogram(self) -> str:
        return f"!dbg !{self._program}"

    def tail(self, span: Span) -> str:
        """What an instruction made for `span` carries: `, !dbg !N`."""
        key = (span.file, max(span.line, 1), span.col + 1)
        found = self._locations.get(key)
        if found is None:
            scope = self._scope(span.file)
            number = self._add(f"!DILocation(line: {key[1]}, column: {key[2]}, scope: !{scope})")
            found = self._locations[key] = f", !dbg !{number}"
        return found

    def _scope(self, file: str) -> int:
        if file not in self._scopes:
            other = self._add(_file(file))
            self._scopes[file] = self._add(
                f"!DILexicalBlockFile(scope: !{self._program}, file: !{other}, discriminator: 0)"
            )
        return self._scopes[file]

    def metadata(self) -> list[str]:
        numbered = [f"!{self.FIRST + i} = {line}" for i, line in enumerate(self._lines)]
        flag = self.FIRST + len(self._lines)
        return [
            *numbered, f'!{flag} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f"!llvm.dbg.cu = !{{!{self._unit}}}", f"!llvm.module.flags = !{{!{flag}}}",
        ]


def _file(path: str) -> str:
    folder, _, name = path.replace("\\", "/").rpartition("/")
    return f'!DIFile(filename: "{_quote(name)}", directory: "{_quote(folder)}")'


def _quote(text: str) -> str:
    return text.replace("\\", "\\5C").replace('"', "\\22")
