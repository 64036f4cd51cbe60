"""A class is no kernel."""


import tilewright as ct


def main() -> None:
    ct.tile_kernel(int)
