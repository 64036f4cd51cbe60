"""What the compiler made of a kernel, as text, decisions and dumps."""
