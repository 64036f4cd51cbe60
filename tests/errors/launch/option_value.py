"""An option out of range."""


import tilewright as ct


def main() -> None:
    ct.tile_kernel(occupancy=64)
