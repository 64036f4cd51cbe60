"""Values that threads share through shared memory, and the allocation of its buffers."""
