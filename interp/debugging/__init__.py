"""Looking at a kernel while the interpreter runs it: Python's debuggers at the user's lines, and traces of values."""
