"""Thousands of plainly written kernels with all sorts of tiles and hints, compiled and assembled: `make sweep`."""
