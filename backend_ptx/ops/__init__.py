"""The machine ops: what the backend's passes put into Tile IR. Importing this package registers them all."""

from tilewright.backend_ptx.ops import layout, reduce, shared

__all__ = ["layout", "reduce", "shared"]
