"""Layouts: which thread holds which elements of a tile in its registers, and the conversions between layouts."""
