"""Fuzzing: random kernels and Tile IR through every executor, mutants of everything that is read from outside."""
