"""A kernel's resources: registers, shared memory, occupancy; and the ladder of plans that need less."""
