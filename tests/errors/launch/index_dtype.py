"""An index type that arrays do not have."""


import tilewright as ct


def main() -> None:
    ct.ArrayAnnotation(index_dtype=ct.int16)
