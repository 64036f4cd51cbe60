"""`load_bundle`, which imports what it needs when it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.bundles.loaded import Bundle


@public
def load_bundle(path: str | os.PathLike[str], /) -> Bundle:
    """Load the compiled kernels of a folder that `tilewright build` has made, or of an export's manifest.

    Arguments: `path`, the folder, or a manifest's JSON file.
    Result: a Bundle: `bundle["name"][grid](*args)` launches its kernels, without their source. From now on launches of
        kernels of Python functions look there before they compile: they take code that was built from the same Tile IR.
        With `TILEWRIGHT_NO_JIT=1` a launch without such code is an error, which names the signature.
    Errors: ValueError (ManifestError) for files that are damaged, that were changed, or that another version has made.

    Example:
        import tempfile
        from pathlib import Path

        @ct.tile_kernel
        def double(x, n: ct.Constant[int]):
            ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), n) * 2.0)

        folder = Path(tempfile.mkdtemp())
        signature = ct.compilation.KernelSignature.from_kernel_args(double, (ct.spec("f32[1024]"), 256))
        ct.compilation.export_kernel(double, [signature], folder / "double.ptx", gpu_code="sm_80", output_format="ptx",
                                     manifest=folder / "double.json")
        bundle = ct.load_bundle(folder / "double.json")
        print(list(bundle))  # ['double']
        bundle.unload()
        ct.load_bundle(folder / "nothing.json")  # ManifestError
    """
    from tilewright.bundles.loaded import load

    return load(Path(path))
