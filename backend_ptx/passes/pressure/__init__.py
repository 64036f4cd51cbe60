"""Warps per CTA and register pressure: loads sunk, or tiles spilled to shared memory and rematerialised."""
