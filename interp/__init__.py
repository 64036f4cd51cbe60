"""The interpreter: executes Tile IR on NumPy arrays. `compile_function(function).run(grid, args)`."""

from tilewright.interp.program import Program, compile_function
from tilewright.interp.registry import missing_handlers

__all__ = ["Program", "compile_function", "missing_handlers"]
