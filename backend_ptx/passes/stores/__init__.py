"""Stores of tiles: sub-tile by sub-tile through shared memory, by coalesced stores or by TMA."""
