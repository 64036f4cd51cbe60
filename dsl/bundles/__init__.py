"""Bundles: kernels compiled ahead, in a folder; built from a spec, loaded by servers that never compile."""
