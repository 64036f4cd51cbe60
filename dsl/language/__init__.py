"""The functions that kernels call: documented stubs, one module a family. Their meaning is in the frontend's rules."""

from tilewright.language.arith import *  # noqa: F403
from tilewright.language.arrays import *  # noqa: F403
from tilewright.language.arrays import Array
from tilewright.language.atomics import *  # noqa: F403
from tilewright.language.bitwise import *  # noqa: F403
from tilewright.language.classes import Scalar, Tile
from tilewright.language.compare import *  # noqa: F403
from tilewright.language.compose import *  # noqa: F403
from tilewright.language.convert import *  # noqa: F403
from tilewright.language.factories import *  # noqa: F403
from tilewright.language.math import *  # noqa: F403
from tilewright.language.matmul import *  # noqa: F403
from tilewright.language.memory import *  # noqa: F403
from tilewright.language.order import *  # noqa: F403
from tilewright.language.output import *  # noqa: F403
from tilewright.language.reduce import *  # noqa: F403
from tilewright.language.scan import *  # noqa: F403
from tilewright.language.shape import *  # noqa: F403
from tilewright.language.special import *  # noqa: F403
from tilewright.language.static import *  # noqa: F403
from tilewright.language.tiled import TiledView
from tilewright.language.views import *  # noqa: F403

# Written out because type checkers follow no computed list; tests/typing holds it against the modules' own lists.
__all__ = [
    "Array", "Scalar", "Tile", "TiledView", "add", "sub", "mul", "truediv", "floordiv", "mod", "cdiv",
    "divmod", "pow", "minimum", "maximum", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_lshift", "bitwise_rshift", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "where", "bid", "num_blocks", "num_tiles", "assume_divisible_by", "atomic_cas",
    "atomic_xchg", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
    "insert", "astile", "pack_to_bytes", "unpack_from_bytes", "astype", "bitcast", "full", "zeros", "ones",
    "arange", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "floor", "ceil", "trunc", "stop_gradient", "isnan", "negative", "abs", "bitwise_not", "mma", "mma_scaled", "matmul",
    "load", "store", "gather", "scatter", "print", "printf", "assert_", "grid_dependency_control_wait",
    "grid_dependency_control_launch_dependents", "sum", "prod", "max", "min", "argmax", "argmin", "cumsum",
    "cumprod", "scan", "reduce", "reshape", "broadcast_to", "expand_dims", "permute", "transpose", "cat",
    "extract", "static_eval", "static_assert", "static_iter", "ensure_constant", "Slice",
    "load_advanced_indexing", "store_advanced_indexing", "asin", "acos", "atan", "asinh", "acosh", "atanh",
    "log1p", "expm1", "erf", "erfc", "sigmoid", "round", "isinf", "isfinite", "popcount", "clz", "ffs", "clamp",
    "any", "all", "sort", "argsort", "topk", "histogram", "join", "split", "interleave",
    "take", "roll", "flip",
]
