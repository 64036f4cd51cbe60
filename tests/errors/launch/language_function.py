"""A function of the language called on the host."""


import tilewright as ct


def main() -> None:
    ct.arange(4, dtype=ct.float32)
