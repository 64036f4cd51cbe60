"""Functions of Tile IR changed as wholes: over batches, and several as one."""
