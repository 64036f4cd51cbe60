"""Warps per CTA and register pressure: loads sunk, prefetched, or spilled to shared memory and rematerialised."""
