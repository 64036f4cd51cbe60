"""Lesson 12, shipping: docs/lessons/12-shipping.md reads it cell by cell."""

# %% The kernel
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tw


@tw.tile_kernel
def scale(x, out, factor: float, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, (tw.load(x, i, tile) * factor).astype(out.dtype))


# %% What a launch compiles
x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
scale[(tw.cdiv(1000, 256),)](x, out, 2.0, 256)
print(out[-1])                                          # 1998.0
ptx = scale.ptx(tw.spec("f32[1000]"), tw.spec("f32[1000]"), 2.0, 256, target="sm_90a")
print(".target sm_90a" in ptx)                          # True

# %% A signature
Signature = tw.compilation.KernelSignature
example = (tw.spec("f32[1024]"), tw.spec("f32[1024]"), 2.0, 256)
signature = Signature.from_kernel_args(scale, example, symbol="scale_f32")
array = signature.parameters[0]
assert isinstance(array, tw.compilation.ArrayConstraint)
print(array.shape_divisible_by, array.base_addr_divisible_by)       # (16,) 16

# %% Fewer promises
loose = tw.compilation.ArrayConstraint(
    tw.float32, 1, index_dtype=tw.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
    stride_constant=[1], base_addr_divisible_by=4)
anything = Signature(
    [loose, loose, tw.compilation.ScalarConstraint(tw.float32), 256],
    tw.compilation.CallingConvention.cutile_python_v1(), symbol="scale_any")

# %% Export
folder = Path(tempfile.mkdtemp())
kernels = tw.compilation.export_kernel(
    scale, [signature, anything], folder / "scale.ptx", gpu_code="sm_80", output_format="ptx")
for made in kernels:
    print(made.symbol, made.threads, made.shared_bytes)
    # scale_f32 64 0
    # scale_any 64 0
for parameter in kernels[0].parameters:
    print(parameter.name, parameter.kind, parameter.c_type)
    # x pointer void*
    # x.n0 extent int32_t
    # x.s0 stride int32_t
    # out pointer void*
    # out.n0 extent int32_t
    # out.s0 stride int32_t
    # factor scalar float

# %% What is in the file
text = (folder / "scale.ptx").read_text()
print([line.split()[-1] for line in text.splitlines() if ".entry" in line])     # ['scale_f32(', 'scale_any(']
for name in ("scale_f32", "scale_any"):
    body = text.partition(f".entry {name}(")[2].partition(".entry")[0]
    print(name, "v4.b32" in body or "v4.f32" in body)
    # scale_f32 True
    # scale_any False


# %% A launch in C
def c_launch(made):
    """The C code that launches an exported kernel by the driver's API."""
    names = [parameter.name.replace(".", "_") for parameter in made.parameters]
    declared = "\n".join(f"{p.c_type} {name};" for p, name in zip(made.parameters, names, strict=True))
    pointers = ", ".join(f"&{name}" for name in names)
    return (f"{declared}\n"
            f"void *arguments[] = {{{pointers}}};\n"
            f"cuLaunchKernel(function, blocks, 1, 1, {made.threads}, 1, 1, {made.shared_bytes}, stream, arguments, 0);")


print(c_launch(kernels[0]))
# void* x;
# int32_t x_n0;
# int32_t x_s0;
# void* out;
# int32_t out_n0;
# int32_t out_s0;
# float factor;
# void *arguments[] = {&x, &x_n0, &x_s0, &out, &out_n0, &out_s0, &factor};
# cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, 0);

# %% Solution 1
half = tw.spec("f16[1024]")
more = [Signature.from_kernel_args(scale, (half, half, 2.0, tile), symbol=f"scale_f16_{tile}") for tile in (256, 1024)]
halves = tw.compilation.export_kernel(scale, more, folder / "half.ptx", gpu_code="sm_90", output_format="ptx")
print([(kernel.symbol, kernel.threads) for kernel in halves])         # [('scale_f16_256', 32), ('scale_f16_1024', 128)]

# %% Solution 2
fixed = Signature.from_kernel_args(scale, example)
print(str(fixed.symbol).startswith("scale"), fixed.symbol != signature.symbol)   # True True
