"""Arrays of the command line: from files, or generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.arguments.spec import Spec, spec
from tilewright.cli.reading import literal, split_args

FILLS = ("zeros", "ones", "arange", "random")


def launch_values(args: str, seed: int) -> list[Any]:
    """The arguments of a launch that the text of --args describes."""
    import numpy

    random = numpy.random.default_rng(seed)
    return [_value(text, random) for text in split_args(args)]


def specified_values(args: str) -> list[Any]:
    """The same for what looks at a launch: a spec for `dtype[extents]`, and an array only where a file or a fill says
    that the contents matter."""
    return [_specified(text) for text in split_args(args)]


def _specified(text: str) -> Any:
    value = literal(text)
    if value is not None:
        return value[0]
    if text.startswith("[") and text.endswith("]"):
        return [_specified(part) for part in split_args(text[1:-1])]
    if text.startswith("(") and text.endswith(")"):
        return tuple(_specified(part) for part in split_args(text[1:-1]))
    if text.endswith(".npy"):
        return loaded(Path(text))
    if ":" in text:
        import numpy

        return generated(text, numpy.random.default_rng(0))
    return spec(text)


def _value(text: str, random: Any) -> Any:
    value = literal(text)
    if value is not None:
        return value[0]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part, random) for part in split_args(text[1:-1])]
    if text.startswith("(") and text.endswith(")"):
        return tuple(_value(part, random) for part in split_args(text[1:-1]))
    return loaded(Path(text)) if text.endswith(".npy") else generated(text, random)


def loaded(path: Path) -> Any:
    """The array in a file; ValueError for what is none."""
    import numpy

    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file")
    try:
        return numpy.load(path)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is no array in NumPy's format: {error}") from None


def generated(text: str, random: Any) -> Any:
    """The array that `dtype[extents]:fill` describes; random numbers without a fill."""
    import numpy

    what, _, fill = text.partition(":")
    fill = fill.strip() or "random"
    described: Spec = spec(what)
    if described.extents is None or None in described.extents or fill not in FILLS:
        raise ValueError(f"{text!r} is no array to generate; write dtype[extents], and :{', :'.join(FILLS)} after it")
    shape = tuple(n for n in described.extents if n is not None)
    dtype = numpy_dtype(described.dtype)
    if fill in ("zeros", "ones"):
        return numpy.full(shape, int(fill == "ones")).astype(dtype)
    if fill == "arange":
        return numpy.arange(int(numpy.prod(shape))).reshape(shape).astype(dtype)
    if described.dtype.is_float:
        return random.standard_normal(shape).astype(dtype)
    low, high = described.dtype.int_range
    drawn = "int8" if described.dtype.is_bool else dtype
    return random.integers(low, high, size=shape, endpoint=True, dtype=drawn).astype(dtype)
