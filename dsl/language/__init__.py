"""The functions that kernels call: documented stubs, one module a family. Their meaning is in the frontend's rules."""

from tilewright.language.arith import *  # noqa: F403
from tilewright.language.arith import __all__ as _arith
from tilewright.language.arrays import *  # noqa: F403
from tilewright.language.arrays import __all__ as _arrays
from tilewright.language.atomics import *  # noqa: F403
from tilewright.language.atomics import __all__ as _atomics
from tilewright.language.classes import Array, Scalar, Tile, TiledView
from tilewright.language.compose import *  # noqa: F403
from tilewright.language.compose import __all__ as _compose
from tilewright.language.convert import *  # noqa: F403
from tilewright.language.convert import __all__ as _convert
from tilewright.language.factories import *  # noqa: F403
from tilewright.language.factories import __all__ as _factories
from tilewright.language.math import *  # noqa: F403
from tilewright.language.math import __all__ as _math
from tilewright.language.matmul import *  # noqa: F403
from tilewright.language.matmul import __all__ as _matmul
from tilewright.language.memory import *  # noqa: F403
from tilewright.language.memory import __all__ as _memory
from tilewright.language.output import *  # noqa: F403
from tilewright.language.output import __all__ as _output
from tilewright.language.reduce import *  # noqa: F403
from tilewright.language.reduce import __all__ as _reduce
from tilewright.language.scan import *  # noqa: F403
from tilewright.language.scan import __all__ as _scan
from tilewright.language.shape import *  # noqa: F403
from tilewright.language.shape import __all__ as _shape
from tilewright.language.static import *  # noqa: F403
from tilewright.language.static import __all__ as _static
from tilewright.language.views import *  # noqa: F403
from tilewright.language.views import __all__ as _views

__all__ = [
    "Array", "Scalar", "Tile", "TiledView",
    *_arith, *_arrays, *_atomics, *_compose, *_convert, *_factories, *_math, *_matmul, *_memory, *_output,
    *_reduce, *_scan, *_shape, *_static, *_views,
]
