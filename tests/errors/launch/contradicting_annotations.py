"""A parameter that is a constant and an array."""

from typing import Annotated

import tilewright as ct


def main() -> None:
    def broken(x: Annotated[ct.Constant[int], ct.ArrayAnnotation()]) -> None:
        pass
    
    ct.tile_kernel(broken)
