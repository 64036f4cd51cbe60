"""Floating-point arithmetic as the hardware does it."""
