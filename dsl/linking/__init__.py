"""Other people's device code in kernels: single instructions of PTX, and functions from bitcode or PTX."""
