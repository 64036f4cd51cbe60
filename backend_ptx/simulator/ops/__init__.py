"""What LLVM's instructions, its intrinsics and the backend's inline assembly do."""
