from typing import Any


def do_bench(fn: Any, *windows: Any, **options: Any) -> Any:
    raise RuntimeError("0 active drivers")


do_bench_cudagraph = do_bench
