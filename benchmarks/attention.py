"""Attention forward beside cuDNN (through torch), correctness checked in the same run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks._timing import Row, alternate, fastest, graph_of

# (batch, heads, tokens, d, causal)
WORK = ((4, 32, 4096, 128, False), (4, 32, 4096, 128, True), (1, 32, 16384, 128, False), (1, 32, 16384, 128, True),
        (4, 32, 4096, 64, False), (4, 32, 4096, 64, True))
TILES = ((128, 128), (128, 64), (64, 128), (64, 64))


def error(out, q, k, v, causal: bool) -> float:
    """The largest error of some rows of some heads, against float32 arithmetic."""
    import torch

    worst = 0.0
    for head in (0, q.shape[0] - 1):
        rows = torch.randint(0, q.shape[1], (64,), device=q.device)
        score = q[head, rows].float() @ k[head].float().T * q.shape[2] ** -0.5
        if causal:
            late = torch.arange(k.shape[1], device=q.device)[None, :] > rows[:, None]
            score = score.masked_fill(late, float("-inf"))
        want = torch.softmax(score, dim=1) @ v[head].float()
        worst = max(worst, (out[head, rows].float() - want).abs().max().item())
    return worst


def rows() -> Iterator[Row | str]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    import tilewright as tw
    from benchmarks.kernels import attention

    for batch, heads, tokens, d, causal in WORK:
        q, k, v = (torch.randn(batch, heads, tokens, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        flat = [x.view(batch * heads, tokens, d) for x in (q, k, v)]
        out = torch.empty_like(flat[0])

        def run(tm: int, tn: int) -> None:
            grid = (tw.cdiv(tokens, tm), batch * heads)  # noqa: B023
            attention[grid](*flat, out, d**-0.5, tm, tn, d, causal)  # noqa: B023

        def theirs() -> object:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: B023

        def checked(tm: int, tn: int) -> object:
            out.fill_(float("nan"))  # noqa: B023
            run(tm, tn)
            found = error(out, *flat, causal=causal)  # noqa: B023
            if not found < 1e-2:
                raise SystemExit(f"attention, tile {tm} x {tn}: error {found}, so its time means nothing")
            return lambda: run(tm, tn)

        name = f"attention {batch}x{heads}x{tokens}x{d}{' causal' if causal else ''}"
        ours = fastest({f"{tm}x{tn}": checked(tm, tn) for tm, tn in TILES})
        flops = 4.0 * batch * heads * tokens * tokens * d * (0.5 if causal else 1.0)
        # As graphs: the host takes longer to launch what torch has than ours, and the GPU would wait for it.
        runs = {"ours": graph_of(ours), "cuDNN": graph_of(theirs)}
        yield Row(name, alternate(runs, rounds=7, inner=2), flops=flops)
