"""Warps per CTA and what waits in registers: loads sunk, prefetched, or rematerialised from shared memory."""
