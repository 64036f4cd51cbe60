"""Two ways of running a kernel side by side, down to the first op whose values differ."""
