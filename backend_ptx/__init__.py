"""Tile IR to LLVM NVPTX to PTX, and its launch through the CUDA driver."""
