"""Software pipelining: loads that start some iterations before their use, into slots of rings in shared memory."""
