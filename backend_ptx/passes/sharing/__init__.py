"""What threads tell each other through shared memory, and where each buffer lies in it."""
