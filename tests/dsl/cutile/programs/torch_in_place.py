"""In place, with .cuda() and .cpu(); the copy from before the kernel stays as it was."""

import torch
import cuda.tile as ct
from cuda.tile import Constant, bid, kernel, launch, load, store


@kernel
def scale(x, factor: float, tile: Constant[int]):
    store(x, bid(0), load(x, bid(0), tile) * factor)


def scale_(x, factor):
    assert x.is_cuda, "the tensor must be on the GPU"
    launch(torch.cuda.current_stream().cuda_stream, (ct.cdiv(x.numel(), 64),), scale, (x, factor, 64))
    return x


host = torch.randn(100)
x = host.cuda()
before = x.cpu()
with torch.cuda.stream(torch.cuda.Stream()):
    scale_(x, 3.0)
torch.cuda.synchronize()
same = torch.allclose(before, host)
print("in place", same, torch.allclose(x.cpu(), host + host + host))
