"""The launcher in machine code: its text (`*.ll`), the words that it reads, how it is made, kept and called."""
