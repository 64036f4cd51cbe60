"""A list annotation without one of its arrays."""


import tilewright as ct


def main() -> None:
    ct.ListAnnotation(element=int)
