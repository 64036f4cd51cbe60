"""The explorer: one page with a kernel's source and all its stages side by side, linked line by line."""
