"""Device code of others in a kernel: an instruction of PTX, a function of LLVM's, and one that nvcc might have made.

Each says what it means on NumPy arrays, so that the interpreter runs the kernel, too.
"""

import numpy as np
from _places import check, places

import tilewright as tw

# Clang makes such code of `extern "C" __device__ float smooth(float t) { return t * t * (3 - 2 * t); }`, as bitcode.
SMOOTH = """
target triple = "nvptx64-nvidia-cuda"
define float @smooth(float %t) {
  %double = fmul float %t, -2.0
  %rest = fadd float %double, 3.0
  %square = fmul float %t, %t
  %result = fmul float %square, %rest
  ret float %result
}
"""
# And nvcc -ptx -rdc=true of `extern "C" __device__ float halved(float x) { return x * 0.5f; }`.
HALVED = """
.version 7.8
.target sm_80
.address_size 64
.visible .func (.param .b32 func_retval0) halved(.param .b32 halved_param_0)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [halved_param_0];
    mul.f32 %f2, %f1, 0f3F000000;
    st.param.f32 [func_retval0+0], %f2;
    ret;
}
"""
F, U = tw.float32, tw.uint32
swap_bytes = tw.inline_ptx("prmt.b32 $0, $1, 0, 0x0123;", [U], U, reference=lambda x: x.byteswap())
smooth = tw.device_function(SMOOTH, "smooth", [F], F, reference=lambda t: t * t * (np.float32(-2) * t + np.float32(3)))
halved = tw.device_function(HALVED, "halved", [F], F, reference=lambda x: x * np.float32(0.5))


@tw.tile_kernel
def decode(raw, out, tile: tw.Constant[int]):
    """Big-endian floats, eased and halved."""
    i = tw.bid(0)
    bits = swap_bytes(tw.load(raw, i, tile))
    tw.store(out, i, halved(smooth(tw.bitcast(bits, tw.float32))))


def main() -> None:
    t = np.linspace(0, 1, 5000, dtype=np.float32)
    want = t * t * (np.float32(-2) * t + np.float32(3)) * np.float32(0.5)
    for place in places():
        raw, out = place.put(t.view(np.uint32).byteswap(), np.zeros_like(t))
        decode[(tw.cdiv(5000, 256),)](raw, out, 256)
        check("big-endian floats by device code of others", place, place.get(out), want, 1e-6)


if __name__ == "__main__":
    main()
