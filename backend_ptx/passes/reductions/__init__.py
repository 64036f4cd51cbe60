"""Reductions and scans: within a warp, and across warps through shared memory."""
