"""Running a kernel: grids, streams, specialisations, and the runners on the host and on GPUs."""
