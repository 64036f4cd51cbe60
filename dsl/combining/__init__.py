"""Kernels as values: what they write, kernels over batches, chains of launches as one kernel."""
