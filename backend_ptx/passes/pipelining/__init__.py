"""Software pipelining: loads are prefetched some iterations ahead, into slots of rings in shared memory."""
