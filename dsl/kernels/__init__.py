"""`tilewright.kernels`: functions on arrays that launch kernels which are there already. `docs/kernels.md`."""

import sys

from tilewright.kernels.attention import attention, attention_backward, decode_attention
from tilewright.kernels.declaration import DECLARED, LibraryFunction, register_all
from tilewright.kernels.elementwise import gated, gated_backward, rotary, transform
from tilewright.kernels.embedding import embedding, embedding_backward
from tilewright.kernels.experts import add_choices, expert_linear, route, sort_by_expert
from tilewright.kernels.fourier import fft
from tilewright.kernels.keys import reduce_by_key
from tilewright.kernels.linear_losses import linear_cross_entropy, linear_cross_entropy_backward
from tilewright.kernels.losses import cross_entropy, cross_entropy_backward
from tilewright.kernels.matmul import linear, linear_backward, matmul
from tilewright.kernels.norms import (
    add_rms_norm,
    group_norm,
    group_norm_backward,
    layer_norm,
    norm_backward,
    rms_norm,
)
from tilewright.kernels.optimisers import adamw
from tilewright.kernels.quantised import dequantise, quantise, quantised_linear
from tilewright.kernels.real_fourier import irfft, irfft_backward, rfft, rfft_backward
from tilewright.kernels.reductions import reduce, reduce_backward
from tilewright.kernels.sampling import sample
from tilewright.kernels.scans import cumsum, segmented_reduce, segmented_sort
from tilewright.kernels.softmax import softmax, softmax_backward

__all__ = [
    "DECLARED", "LibraryFunction", "register_all",
    # rows
    "softmax", "softmax_backward", "rms_norm", "add_rms_norm", "layer_norm", "norm_backward", "group_norm",
    "group_norm_backward", "cross_entropy", "cross_entropy_backward", "linear_cross_entropy",
    "linear_cross_entropy_backward", "sample",
    # attention
    "attention", "attention_backward", "decode_attention",
    # element by element
    "transform", "gated", "gated_backward", "rotary",
    # reductions
    "reduce", "reduce_backward", "cumsum", "segmented_reduce", "segmented_sort", "reduce_by_key",
    # Fourier transforms
    "fft", "rfft", "rfft_backward", "irfft", "irfft_backward",
    # matrices and tables
    "matmul", "linear", "linear_backward", "embedding", "embedding_backward",
    # weights of few bits
    "quantise", "dequantise", "quantised_linear",
    # a mixture of experts
    "route", "sort_by_expert", "expert_linear", "add_choices",
    # optimisers
    "adamw",
]

# A stand-in for torch has no operators.
if hasattr(sys.modules.get("torch"), "library"):
    register_all()
