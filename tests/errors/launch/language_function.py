"""A function of the language called on the host."""


import tilewright as ct


def main() -> None:
    ct.zeros((16,), ct.float32)
