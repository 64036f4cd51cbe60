"""What a kernel is given: annotations, arrays, specs, and their binding to parameters."""
