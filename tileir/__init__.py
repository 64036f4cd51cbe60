"""Tile IR: types, ops, text form, verifier, analyses and passes."""

import tilewright.tileir.printer  # noqa: F401  (str of a function)
