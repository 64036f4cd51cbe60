"""Global, shared and local memory, with what is known of each byte; tensor maps."""
