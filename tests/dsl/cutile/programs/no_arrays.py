"""A kernel without arrays, on the handle of a stream."""

import torch
import cuda.tile as ct


@ct.kernel
def hello(n):
    ct.print(f"block {ct.bid(0)} of {n}")


ct.launch(torch.cuda.current_stream().cuda_stream, (2, 1, 1), hello, (2,))
torch.cuda.synchronize()
