"""How tiles leave: sub-tiles staged through shared memory, written by coalesced stores or by TMA."""
