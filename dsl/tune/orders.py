"""In which order a configuration adds: what `same_numerics` keeps equal, read from the certificate of each."""

from __future__ import annotations

from typing import Any

from tilewright.inspecting.certificate import certify_kernel
from tilewright.kernel import tile_kernel
from tilewright.tune.space import Config


def order_of(kernel: tile_kernel, args: tuple[Any, ...], config: Config) -> object:
    """Equal for configurations that give the same bits: the same trees of sums and the same order of K.

    Lengths of tiles along rows and columns of a product do not count. Hints do where sums of tiles are made, because
    warps and CTAs of a cluster share such sums out among themselves.
    """
    outputs = certify_kernel(kernel, args).outputs
    trees = {name: tuple(tree.order or tree.text for tree in out.trees) for name, out in outputs.items()}
    shared_out = any(tree.shared_out for out in outputs.values() for tree in out.trees)
    hints = config.hints
    return tuple(trees.items()), tuple(sorted(hints.items(), key=str)) if shared_out else ()
