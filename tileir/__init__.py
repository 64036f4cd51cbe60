"""Tile IR: types, ops, text form, verifier, analyses and passes."""
