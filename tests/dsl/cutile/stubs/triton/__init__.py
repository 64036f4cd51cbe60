"""As much of Triton as the programs here use: its clock, which needs a GPU."""

from . import testing

__all__ = ["testing"]
