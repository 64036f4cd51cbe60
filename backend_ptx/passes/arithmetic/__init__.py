"""Arithmetic of tiles: what is the same for many elements is computed once."""
