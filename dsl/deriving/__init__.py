"""Kernels made of kernels: their gradients."""
