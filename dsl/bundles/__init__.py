"""Bundles: kernels compiled ahead, in a folder; built from a spec, loaded by servers that never compile."""

from tilewright.bundles.recording import record
from tilewright.bundles.spec import BundleSpec

__all__ = ["BundleSpec", "record"]
