"""The interpreter: executes Tile IR on NumPy arrays. `compile_function(function).run(grid, args, options)`."""

from tilewright.interp.handlers import missing_handlers
from tilewright.interp.memory import Memory, Region
from tilewright.interp.options import ExecutionOptions
from tilewright.interp.program import Program, compile_function

__all__ = ["ExecutionOptions", "Memory", "Program", "Region", "compile_function", "missing_handlers"]
