"""The passes from IR to IR, one a file, and the pipeline that runs them."""

from tilewright.tileir.passes.pipeline import PIPELINE, run_pipeline

__all__ = ["PIPELINE", "run_pipeline"]
