"""The report's kernels of two checkouts, timed side by side on one GPU."""
