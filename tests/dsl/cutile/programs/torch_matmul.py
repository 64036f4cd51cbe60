"""torch with device="cuda", a command line of its own, a persistent grid from the device's properties."""

import argparse

import cuda.tile as ct
import torch

ConstInt = ct.Constant[int]


@ct.kernel
def matmul(a, b, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    columns = ct.num_tiles(c, axis=1, shape=(tm, tn))
    count = ct.num_tiles(c, axis=0, shape=(tm, tn)) * columns
    for tile in range(ct.bid(0), count, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
            x = ct.load(a, (i, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(x, ct.load(b, (k, j), (tk, tn), padding_mode=ct.PaddingMode.ZERO), acc)
        ct.store(c, (i, j), acc.astype(c.dtype))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=32)
    size = parser.parse_args().size
    if not torch.cuda.is_available():
        raise SystemExit("no GPU")
    where = torch.device("cuda")
    generator = torch.Generator(device=where).manual_seed(3)
    a = torch.randn(size, size + 8, generator=generator, device=where, dtype=torch.float16)
    b = torch.randn((size + 8, size), dtype=torch.float16).to("cuda")
    c = torch.empty((size, size), dtype=torch.float32, device=a.device)
    blocks = torch.cuda.get_device_properties(0).multi_processor_count
    ct.launch(torch.cuda.current_stream(), (blocks,), matmul, (a, b, c, 16, 16, 16))
    torch.cuda.synchronize()
    want = a.to(torch.float32) @ b.to(torch.float32)
    print("matmul", size, torch.allclose(c, want, rtol=1e-3, atol=1e-3))


if __name__ == "__main__":
    main()
