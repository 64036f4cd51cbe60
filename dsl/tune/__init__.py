"""`ct.tune`: find the fastest configuration of a kernel by trying all of them."""

from tilewright.tune.process import TileLaunchTimeoutError
from tilewright.tune.results import Measurement, TuningResult
from tilewright.tune.search import exhaustive_search

__all__ = ["exhaustive_search", "TuningResult", "Measurement", "TileLaunchTimeoutError"]
