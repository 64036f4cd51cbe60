"""Matrix products beside cuBLAS (through torch), correctness checked in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._timing import Row, alternate, fastest, triton_kernels

GROUP = 8
# The longest are computed by clusters of two blocks.
TILES = ((128, 256, 64), (128, 128, 64), (256, 128, 64), (64, 256, 64), (64, 128, 64), (512, 128, 64), (256, 256, 64))
ONE_BLOCK = 32768  # elements of an accumulator
SMALL_TILES = ((128, 128, 64), (64, 128, 64), (128, 64, 64), (64, 64, 64))

Run = Callable[[], Any]


def close(c: Any, a: Any, b: Any, eps: float, terms: float = 2.0**-24) -> bool:
    """|c - a@b| <= (k * terms * sum|a||b| + eps |a@b|), on a sample of rows and the last one, in float64."""
    import torch

    rows = torch.randint(0, a.shape[0], (33,), device=a.device)
    rows[-1] = a.shape[0] - 1
    x, y = a[rows].double(), b.double()
    want = x @ y
    bound = a.shape[1] * terms * (x.abs() @ y.abs()) + eps * want.abs()
    return bool(((c[rows].double() - want).abs() <= bound).all())


def rows() -> Iterator[Row | str]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    for dtype in (torch.bfloat16, torch.float16):
        for n in (2048, 4096, 8192):
            for order in ("kn", "nk"):
                yield plain(f"matmul {str(dtype)[6:]} {n}^3, b as [{', '.join(order.upper())}]", n, n, n, order, dtype)
    bf16 = torch.bfloat16
    yield plain("matmul bfloat16 4000x4104x4200", 4000, 4104, 4200, "kn", bf16)
    yield plain("matmul bfloat16 6144x3072x5120", 6144, 3072, 5120, "kn", bf16)
    yield plain("matmul bfloat16 1000x1032x520", 1000, 1032, 520, "kn", bf16, SMALL_TILES)
    yield plain("matmul bfloat16 4095x4097x4099 (no TMA)", 4095, 4097, 4099, "kn", bf16, SMALL_TILES)
    yield plain("matmul bfloat16 4096^3, every second row", 4096, 4096, 4096, "strided", bf16)
    yield plain("matmul tfloat32 4096^3", 4096, 4096, 4096, "nk", torch.float32)
    yield plain("matmul tfloat32 4096^3, b as [K, N]", 4096, 4096, 4096, "kn", torch.float32)
    for order in ("nk", "kn"):
        for fast in (True, False):
            yield float8(8192, fast, order)
    yield batched(64, 1024)
    yield float32_error()


def operands(m: int, n: int, k: int, order: str, dtype: Any) -> tuple[Any, Any]:
    """a (m, k) and b (k, n) of random numbers, b row-major ("kn") or column-major ("nk"), or both with gaps."""
    import torch

    def random(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype)

    if order == "strided":
        return random(2 * m, k)[::2], random(2 * k, n)[::2]
    return random(m, k), random(k, n) if order == "kn" else random(n, k).T


def plain(name: str, m: int, n: int, k: int, order: str, dtype: Any, tiles: Any = TILES) -> Row:
    """The best of the listed tiles, plain and persistent, beside torch.matmul; small ones also over a grid of two axes,
    whose blocks compute no place before they load."""
    import torch

    import tilewright as tw
    from benchmarks.kernels import matmul, persistent_matmul, plain_matmul

    tf32 = dtype is torch.float32
    a, b = operands(m, n, k, order, dtype)
    c, theirs = (torch.empty(m, n, device="cuda", dtype=dtype) for _ in range(2))
    rounded = [to_tf32(x) if tf32 else x.double() for x in (a, b)]
    # The tensor cores cut float32 operands off where the cast to tfloat32 would round them.
    eps = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-10, torch.float32: 0.0}[dtype]

    def choice(kernel: Any, tile: tuple[int, int, int]) -> Run:
        tm, tn, tk = tile
        tk = tk // 2 if tf32 else tk
        if kernel is plain_matmul:
            over = kernel[(tw.cdiv(m, tm), tw.cdiv(n, tn))]
            return checked(name, c, rounded, eps, lambda: over(a, b, c, tm, tn, tk, tf32))
        blocks = tw.cdiv(m, tm) * tw.cdiv(n, tn)
        grid = (min(blocks, places(tm, tn)) if kernel is persistent_matmul else blocks,)
        return checked(name, c, rounded, eps, lambda: kernel[grid](a, b, c, tm, tn, tk, GROUP, tf32))

    kernels = (matmul, persistent_matmul) if tiles is TILES else (matmul, persistent_matmul, plain_matmul)
    ours = fastest({f"{kernel.__name__} {tile}": choice(kernel, tile) for tile in tiles for kernel in kernels})
    contenders = {"ours": ours, "cuBLAS": lambda: torch.matmul(a, b, out=theirs)}
    rival = triton_kernels()
    if rival is not None and order == "kn":  # its kernel reads rows of both operands
        contenders["triton"] = lambda: rival.run_matmul(a, b, theirs, tf32)
    return Row(name, alternate(contenders, queued=tiles is not TILES), flops=2.0 * m * n * k)


def checked(name: str, c: Any, operands: list[Any], eps: float, run: Run, terms: float = 2.0**-24) -> Run:
    """`run`, which checks its result at the first call: a wrong one has no time."""
    state: list[bool] = []

    def first() -> None:
        if state:
            run()
            return
        c.fill_(float("nan"))
        run()
        if not close(c, *operands, eps=eps, terms=terms):
            raise SystemExit(f"{name}: wrong result, so its time means nothing")
        state.append(True)
    return first


def float8(n: int, fast: bool, order: str) -> Row:
    """e4m3 with one scale of 1, bfloat16 results; torch's product takes b as [N, K] only. `fast`: both sides may add in
    the tensor cores' own way."""
    import torch

    import tilewright as tw
    from benchmarks.kernels import matmul8, plain_matmul8

    a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    theirs_b = b.T if order == "nk" else b.T.contiguous().T
    b = theirs_b if order == "nk" else b
    c, one = torch.empty(n, n, device="cuda", dtype=torch.bfloat16), torch.ones((), device="cuda")

    def choice(kernel: Any, tm: int, tn: int, tk: int) -> Run:
        blocks = tw.cdiv(n, tm) * tw.cdiv(n, tn)
        grid = (min(blocks, _processors()) if kernel is matmul8 else blocks,)
        run = lambda: kernel[grid](a, b, c, tm, tn, tk, GROUP, fast)  # noqa: E731
        # 13 bits behind the point, over all of k or over one tile's k (arXiv 2412.19437, section 3.3.2)
        return checked("float8", c, [a.double(), b.double()], 2.0**-6 if fast else 2.0**-8, run, 2.0**-12)

    tiles = (128, 256, 128), (128, 128, 128), (256, 128, 128)
    if not fast:  # partial products take registers beside the accumulators
        tiles = (128, 128, 128), (128, 128, 256), (64, 256, 128), (128, 256, 128), (256, 128, 256)
    ours = fastest({f"{kernel.__name__} {t}": choice(kernel, *t) for t in tiles for kernel in (matmul8, plain_matmul8)})
    theirs = lambda: torch._scaled_mm(  # noqa: E731
        a, theirs_b, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    work = "matmul float8_e4m3" if order == "nk" else "float8_e4m3 matmul with b as [K, N],"
    name = f"{work} {n}^3, {'fast' if fast else 'float32'} accumulation"
    return Row(name, alternate({"ours": ours, "cuBLAS": theirs}), flops=2.0 * n**3)


def places(tm: int, tn: int) -> int:
    """How many blocks run at once that have tiles of tm x tn."""
    return _processors() // max(1, tm * tn // ONE_BLOCK)


def _processors() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).multi_processor_count)


def batched(batch: int, n: int) -> Row:
    import torch

    import tilewright as tw
    from benchmarks.kernels import batched_matmul

    a, b = (torch.randn(batch, n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c, theirs = torch.empty_like(a), torch.empty_like(a)

    def choice(tm: int, tn: int, tk: int, persistent: bool) -> Run:
        tiles = tw.cdiv(n, tn) * tw.cdiv(n, tm) * batch
        grid = (min(tiles, places(tm, tn)) if persistent else tiles,)
        run = lambda: batched_matmul[grid](a, b, c, tm, tn, tk)  # noqa: E731
        return checked("bmm", c[3], [a[3].double(), b[3].double()], 2.0**-8, run)

    ours = fastest({f"{t} {p}": choice(*t, p) for t in TILES for p in (True, False)})
    times = alternate({"ours": ours, "cuBLAS": lambda: torch.bmm(a, b, out=theirs)})
    return Row(f"bmm bfloat16 {batch} x {n}^3", times, flops=2.0 * batch * n**3)


def float32_error(n: int = 1024) -> str:
    """A float32 product is real float32: its largest error against float64."""
    import torch

    from benchmarks.kernels import matmul

    a, b, c = (torch.randn(n, n, device="cuda") for _ in range(3))
    matmul[((n // 64) ** 2,)](a, b, c, 64, 64, 32, GROUP, False)
    worst = float((c.double() - a.double() @ b.double()).abs().max())
    return f"matmul float32 {n}^3 by FMA: largest error {worst:.2e} against float64"


def to_tf32(x: Any) -> Any:
    """Round to ten mantissa bits, as the cast to tfloat32 does."""
    import torch

    bits = x.contiguous().view(torch.int32)
    return ((bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32).double()
