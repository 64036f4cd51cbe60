"""A multiply in float16 and one in TF32, checked by torch's own; without substitutions 0.02 and 0.005 apart."""

import cuda.tile as ct
import torch


@ct.kernel
def matmul(a, b, c, allow_tf32: ct.Constant[bool]):
    tile_a, tile_b = ct.load(a, (0, 0), (64, 64)), ct.load(b, (0, 0), (64, 64))
    if allow_tf32:
        tile_a, tile_b = tile_a.astype(ct.tfloat32), tile_b.astype(ct.tfloat32)
    ct.store(c, (0, 0), ct.mma(tile_a, tile_b, ct.zeros((64, 64), ct.float32)).astype(c.dtype))


def largest_error(dtype, allow_tf32):
    torch.set_float32_matmul_precision("high" if allow_tf32 else "highest")
    a, b = (torch.randn(64, 64, dtype=dtype, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    ct.launch(torch.cuda.current_stream(), (1,), matmul, (a, b, c, allow_tf32))
    return float(abs((c - a @ b).cpu().numpy()).max())


print("precision", largest_error(torch.float16, False) < 4e-3, largest_error(torch.float32, True) < 1e-4)
