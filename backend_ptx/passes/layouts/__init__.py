"""How the elements of tiles lie in the registers of threads, and how they move from one layout to another."""
