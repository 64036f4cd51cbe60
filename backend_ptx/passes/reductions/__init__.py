"""Reductions and scans: what a warp does alone, and what warps exchange."""
