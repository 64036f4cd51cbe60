"""A text that describes no array."""


import tilewright as ct


def main() -> None:
    ct.spec("f33[16]")
