"""A function that is no kernel."""


import tilewright as ct


def main() -> None:
    ct.launch(None, (1,), print, ("text",))
