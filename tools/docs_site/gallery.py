"""docs/examples.md: every example with what its docstring says, by subject.

`python tools/docs_site/gallery.py` writes it.
tests/test_site.py holds the page against the files, so a new example needs a line in `SUBJECTS`.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs_site.pages import DOCS, ROOT, language_anchors

SUBJECTS = {
    "First steps": "demo vector_add fused_relu sin_affine transpose",
    "Reductions, scans and sorting": "sum_axis segmented_sum segmented_mask prefix_sum histogram top_k sort",
    "Softmax and normalisation": "softmax online_softmax cross_entropy layer_norm layer_norm_backward rms_norm dropout "
                                  "train_network",
    "Matrix products": "one_mma blas gemm matmul tuned_matmul persistent_matmul batched_matmul grouped_matmul "
                       "split_k_matmul split_k_atomics fused_linear fused_block int8_weights convolution cholesky",
    "Attention and language models": "attention attention_backward decode rotary_embedding embedding moe_routing "
                                     "mixture_of_experts",
    "Irregular memory": "gather_scatter sparse",
    "Kernels in files, and code of others": "shipping device_code",
    "Several GPUs": "distributed_matmul",
    "Simulation, signals and pictures": "heat life n_body black_scholes fft fft4096 mandelbrot",
}
INTRODUCTION = """# Examples

Each example is a script that checks itself against NumPy, in the interpreter and, where there is one, on a GPU:
`python examples/softmax.py`. `make examples` runs all of them.

<!-- made by tools/docs_site/gallery.py -->
"""
EVERYWHERE = {"bid", "load", "store", "tile_kernel", "Constant", "cdiv", "PaddingMode", "spec", "kernel", "MemoryOrder"}


def line_of(name: str) -> str:
    """The table's line of an example: its page, its docstring, the functions of tile code that it shows."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text())
    text = " ".join((ast.get_docstring(tree) or "").split()).replace("|", r"\|")
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name) and node.value.id == "tw"}
    shown = sorted(name for name in used - EVERYWHERE if name.lower() in language_anchors())
    links = ", ".join(f"[`{name}`](language.md#{name.lower()})" for name in shown)
    return f"| [{name}](../examples/{name}.py) | {text} | {links} |"


def page() -> str:
    """The text of docs/examples.md."""
    out = [INTRODUCTION]
    for subject, names in SUBJECTS.items():
        out += [f"## {subject}\n", "| example | what it does | functions |", "|---|---|---|",
                *map(line_of, names.split()), ""]
    return "\n".join(out)


if __name__ == "__main__":
    (DOCS / "examples.md").write_text(page())
