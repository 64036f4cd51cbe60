"""`tilewright.profiling`: what launches cost, move and compute."""
