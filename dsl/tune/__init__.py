"""`ct.tune`: find the fastest configuration of a kernel: at its launches (`autotune`), or by a search of your own."""

from tilewright.tune.autotune import Autotuned, autotune
from tilewright.tune.process import TileLaunchTimeoutError
from tilewright.tune.results import Measurement, TuningResult
from tilewright.tune.search import exhaustive_search
from tilewright.tune.space import Config

__all__ = ["exhaustive_search", "TuningResult", "Measurement", "TileLaunchTimeoutError", "autotune", "Autotuned",
           "Config"]
