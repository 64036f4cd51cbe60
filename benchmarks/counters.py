"""Estimates of traffic beside the counters of the GPU: sectors of L2 and bytes of memory for fourteen kernels.

ncu (Nsight Compute) starts this module again as a script that launches each kernel once. Needs torch, ncu, and leave to
read counters. `--small`: small arrays, to try it.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.counter_kernels import Array, Work, works

READ, WRITTEN = "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum"
# Without the traffic between the partitions of L2, and what is not the SMs'.
READ_BY_SMS, WRITTEN_BY_SMS = "lts__t_sectors_srcunit_tex_op_read.sum", "lts__t_sectors_srcunit_tex_op_write.sum"
# What SMs get from L2, before neighbouring SMs share requests.
ASKED = "l1tex__m_xbar2l1tex_read_sectors.sum"
SECTOR = 32  # bytes
MEMORY_READ, MEMORY_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
METRICS = (READ, WRITTEN, READ_BY_SMS, WRITTEN_BY_SMS, ASKED, MEMORY_READ, MEMORY_WRITTEN)
SECTORS_WITHIN, BYTES_WITHIN = 0.10, 0.05  # how near counters must be
SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")


@dataclass(frozen=True)
class Compared:
    """One kernel: what was estimated, and what was counted (by name of the metric; those that ncu does not know are
    left out). Sectors that SMs ask L2 for; bytes of memory, at least and at most. `shared`: sectors that L2 is asked to
    read where all SMs of a wave that ask for the same share a request. The coalescer in front of Hopper's L2 does that
    for some, for how many depends on how SMs drift apart.

    What one of two partitions of L2 gets from the other is counted in both. Half of what comes from memory, and of what
    is written, belongs to the partition far from the SM (H200: copies count 1.5 times the sectors that their SMs ask
    for, and what is read again from L2 once).
    """

    name: str
    read: int
    written: int
    memory_read: tuple[int, int]
    memory_written: tuple[int, int]
    counted: dict[str, float] = field(default_factory=dict)
    partitions: int = 1
    shared: int | None = None

    def lookups(self) -> dict[str, tuple[float, float]]:
        """The sectors that L2 counts for reads and writes, of all partitions, at least and at most."""
        far = 1.0 - 1.0 / self.partitions
        fewest = self.read if self.shared is None else self.shared
        least, most = (asked + far * bytes_ / SECTOR
                       for asked, bytes_ in zip((fewest, self.read), self.memory_read, strict=True))
        return {READ: (least, most), WRITTEN: (self.written * (1.0 + far),) * 2}

    def shares(self) -> dict[str, float]:
        """What was estimated by what was counted; of an interval its nearer end, 1.0 inside."""
        pairs = {READ_BY_SMS: self.read, WRITTEN_BY_SMS: self.written, ASKED: self.read}
        out = {name: _share(estimated, self.counted[name]) for name, estimated in pairs.items() if name in self.counted}
        spans = {**self.lookups(), MEMORY_READ: self.memory_read, MEMORY_WRITTEN: self.memory_written}
        for name, (least, most) in spans.items():
            if name in self.counted:
                out[name] = _share(min(max(self.counted[name], least), most), self.counted[name])
        return out

    def misses(self) -> list[str]:
        """The counters that lie outside of what is asked of estimates."""
        shares = self.shares()
        bounds = {READ: SECTORS_WITHIN, WRITTEN: SECTORS_WITHIN, ASKED: SECTORS_WITHIN, MEMORY_READ: BYTES_WITHIN,
                  MEMORY_WRITTEN: BYTES_WITHIN}
        return [name for name, bound in bounds.items() if name in shares and abs(shares[name] - 1.0) > bound]

    def text(self) -> str:
        shares, parts, lookups = self.shares(), [f"{self.name:<18}"], self.lookups()
        for what, metric, estimated in (
                ("L2 read", READ, _span(lookups[READ])), ("written", WRITTEN, _span(lookups[WRITTEN])),
                ("memory read", MEMORY_READ, _span(self.memory_read)),
                ("written", MEMORY_WRITTEN, _span(self.memory_written))):
            counter, share = self.counted.get(metric), shares.get(metric)
            told = "not counted" if counter is None or share is None else f"{_millions(counter)} {share:6.3f}"
            parts.append(f"{what} {estimated} | {told}")
        by_sms = [f"{shares[name]:.3f}" for name in (READ_BY_SMS, WRITTEN_BY_SMS) if name in shares]
        parts.append(f"of SMs {' '.join(by_sms)}" if by_sms else "")
        parts.append(f"got by SMs {shares[ASKED]:.3f}" if ASKED in shares else "")
        misses = self.misses()
        return "  ".join([p for p in parts if p] + [f"OUTSIDE: {', '.join(misses)}" if misses else "within bounds"])


def _share(estimated: float, counted: float) -> float:
    return estimated / counted if counted else 1.0 if not estimated else float("inf")


def _millions(number: float) -> str:
    return f"{number / 1e6:9.3f} M"


def _span(bytes_: tuple[float, float]) -> str:
    least, most = bytes_
    return _millions(least) if least == most else f"{_millions(least)} to {_millions(most).strip()}"


def rows(small: bool = False) -> Iterator[Compared | str]:
    """A row for each kernel. RuntimeError without ncu, and where it cannot read counters."""
    import torch

    from tilewright.estimating import DEVICES
    from tilewright.estimating.devices import limits_of_gpu

    title = torch.cuda.get_device_name()
    device = limits_of_gpu(title) or DEVICES["h200"]
    yield f"estimated for {device.title}, counted on {title}; estimate | counter and share of the estimate in it"
    chosen = works(small)
    counted = read_csv(profiled(small))
    if len(counted) != len(chosen):
        raise RuntimeError(f"ncu counted {len(counted)} launches, not {len(chosen)}")
    for work, counters in zip(chosen, counted, strict=True):
        yield compared(work, counters, device)


def compared(work: Work, counted: dict[str, float], device: Any) -> Compared:
    """The estimate of a launch beside its counters."""
    from tilewright.estimating import estimate

    found = estimate(work.kernel, work.grid, *work.values(given), device=device)
    assert found.machine is not None
    read, written = ([*part.values()] for part in (found.dram_read, found.dram_written))
    least, most = (sum(one[k] for one in written) for k in (0, 1))
    return Compared(
        work.name, found.machine.l2("read"), found.machine.l2("written"),
        (sum(one[0] for one in read), sum(one[1] for one in read)),
        (max(0, least - device.l2_bytes), most),  # what L2 still holds is written later
        counted, device.l2_partitions, found.machine.l2_shared("read"))


def given(array: Array) -> Any:
    """What an estimate is told of an array: its contents only where they decide."""
    return array.numbers() if array.below else array.spec()


# ---- the counters ----------------------------------------------------------------------------------------------------


def find_ncu() -> str:
    """The path of ncu: $TILEWRIGHT_NCU, PATH, or a usual place."""
    found = os.environ.get("TILEWRIGHT_NCU") or shutil.which("ncu") or next(
        (place for place in PLACES if Path(place).exists()), None)
    if found is None:
        raise RuntimeError("ncu was not found: install Nsight Compute, or set TILEWRIGHT_NCU")
    return found


def command(ncu: str, log: Path, small: bool) -> list[str]:
    """Kernels that run between the start and the stop of the profiler, with empty caches and the clocks as they are."""
    return [ncu, "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off",
            "--clock-control", "none", "--cache-control", "all", "--metrics", ",".join(METRICS),
            "--log-file", str(log), sys.executable, "-m", "benchmarks.counters", "--drive",
            *(["--small"] if small else [])]


def profiled(small: bool) -> str:
    """What ncu prints of all launches."""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        log = Path(folder) / "counters.csv"
        ran = subprocess.run(command(find_ncu(), log, small), capture_output=True, text=True)
        text = log.read_text() if log.exists() else ""
    if ran.returncode != 0 or '"ID"' not in text:
        last = [line for line in (text + ran.stdout + ran.stderr).splitlines() if line.strip()][-6:]
        raise RuntimeError("\n".join(["ncu could not count:", *last]))
    return text


def read_csv(text: str) -> list[dict[str, float]]:
    """The counters of each launch, in order, from what `ncu --csv --page raw` prints: lines of its own, names, units,
    and a line for each launch. A counter that ncu does not know is left out."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError('no table of counters: no line begins with "ID"')
    table = [line for line in csv.reader(io.StringIO("\n".join(lines[start:]))) if line]
    names, units, *launches = table
    return [{name: number * _scale(unit) for name, unit, cell in zip(names, units, launch, strict=True)
             if name in METRICS and (number := _number(cell)) is not None} for launch in launches]


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return None


def _scale(unit: str) -> float:
    """"Mbyte" as 1e6, "sector" as 1."""
    letter = unit[:1] if unit[1:] in ("byte", "sector") else ""
    return SCALES[letter]


def drive(small: bool) -> None:
    """Launch each kernel once while the profiler looks; compile it before."""
    import torch

    for work in works(small):
        args = work.values(on_gpu)
        work.kernel.lower(*args).compiled  # noqa: B018  (so that errors come before the profiler starts)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        work.kernel[work.grid](*args)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        del args
        torch.cuda.empty_cache()


def on_gpu(array: Array) -> Any:
    """A tensor with such contents."""
    import torch

    if array.below:
        return torch.from_numpy(array.numbers().copy()).cuda()
    shape = (*array.shape[:-1], array.shape[-1] * array.step)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[array.dtype]
    return torch.randn(shape, device="cuda", dtype=dtype)[..., :: array.step]


def main(argv: Sequence[str]) -> None:
    if "--drive" in argv:
        drive("--small" in argv)
        return
    for row in rows("--small" in argv):
        print(row if isinstance(row, str) else row.text(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
