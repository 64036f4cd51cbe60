"""An annotation that does not exist."""


import tilewright as ct


def main() -> None:
    def broken(x: "NoSuchType") -> None:  # noqa: F821
        pass
    
    ct.tile_kernel(broken)
