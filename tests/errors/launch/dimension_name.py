"""A dimension that nothing tells the length of."""
# ruff: noqa: F821
# mypy: disable-error-code="type-arg, name-defined, valid-type"

import tilewright as ct


def main() -> None:
    @ct.tile_kernel
    def kernel(a: ct.Array["2*N"]):
        pass
