"""Static axes that are no integers."""


import tilewright as ct


def main() -> None:
    ct.ArrayAnnotation(static_shape_dims=(True,))
