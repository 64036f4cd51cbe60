"""A tile function called on the host."""


import tilewright as ct


@ct.function
def double(t):
    return t + t


def main() -> None:
    double(2.0)
