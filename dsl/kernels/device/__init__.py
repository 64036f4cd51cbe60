"""The library's kernels: tile code alone. The functions that launch them stand one folder up."""
