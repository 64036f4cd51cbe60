"""A name that is no target."""


import tilewright as ct


def main() -> None:
    ct.ByTarget(hopper=2)
