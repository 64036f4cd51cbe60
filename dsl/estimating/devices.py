"""What GPUs can do, as their makers state it and as benchmarks have measured it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.tileir.diagnostics import TileValueError

GB, TERA, MIB = 10**9, 10**12, 1 << 20


_WIDER = {"tensor f4": "tensor bf16", "tensor f8": "tensor f16"}


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of one GPU.

    `target` names its record in `backend_ptx/targets.py`; `sms` counts its SMs, `clock` is its boost clock
    in Hz, `l2_bytes` the size of its L2 cache, `bandwidth` that of its memory in bytes a second. `rates` are dense
    peaks in operations a second: "f32" and "f64" of threads, "tensor bf16" and the like of tensor cores, "special" of
    exp, sqrt and so on. `measured` has those that were reached, under "bandwidth" and the names of rates; they are the
    limits where they are known. `sources` says where the numbers come from. L2 has `l2_partitions`, each beside a part
    of the memory and of the SMs (A100 white paper, "A100 L2 Cache").
    """

    name: str
    title: str
    target: str
    sms: int
    clock: float
    l2_bytes: int
    bandwidth: float
    rates: dict[str, float]
    sources: tuple[str, ...]
    measured: dict[str, float] = field(default_factory=dict)
    l2_partitions: int = 1

    @property
    def memory_limit(self) -> float:
        """Bytes a second of memory: measured, else as stated."""
        return self.measured.get("bandwidth", self.bandwidth)

    def rate_limit(self, kind: str) -> float | None:
        """Operations a second of one kind: measured, else as stated; None for a kind that is not known. Operands that
        no tensor core of the GPU takes are converted to the next wider format that one takes."""
        known = {**self.rates, **self.measured}
        while kind not in known and kind in _WIDER:
            kind = _WIDER[kind]
        return known.get(kind)


def _rates(f32: float, f64: float, tensor: dict[str, float], sms: int, clock: float) -> dict[str, float]:
    """TFLOP/s as operations a second. Special functions: 16 results a clock and SM (CUDA C++ Programming Guide,
    "Arithmetic Instructions"); integers: 64 a clock and SM."""
    return {"f32": f32 * TERA, "f64": f64 * TERA, "special": 16.0 * sms * clock, "integer": 64.0 * sms * clock,
            **{f"tensor {kind}": rate * TERA for kind, rate in tensor.items()}}


def _hopper(name: str, title: str, bandwidth: float, source: str, measured: dict[str, float]) -> DeviceLimits:
    clock = 1.83e9
    tensor = {"f16": 989.4, "bf16": 989.4, "tf32": 494.7, "f8": 1978.9, "i8": 1978.9, "f64": 66.9}
    return DeviceLimits(name, title, "sm_90a", 132, clock, 50 * MIB, bandwidth, _rates(66.9, 33.5, tensor, 132, clock),
                  (source, 'NVIDIA H100 Tensor Core GPU Architecture (white paper), "H100 SXM5"'), measured, 2)


_A100 = {"f16": 312.0, "bf16": 312.0, "tf32": 156.0, "i8": 624.0, "f64": 19.5}
_A40 = {"f16": 149.7, "bf16": 149.7, "tf32": 74.8, "i8": 299.3, "f64": 0.585}
_L40 = {"f16": 181.05, "bf16": 181.05, "tf32": 90.5, "f8": 362.0, "i8": 362.0, "f64": 1.414}
_B200 = {"f16": 2250.0, "bf16": 2250.0, "tf32": 1125.0, "f8": 4500.0, "i8": 4500.0, "f4": 9000.0, "f64": 37.0}
_PRO = {"f16": 503.8, "bf16": 503.8, "tf32": 251.9, "f8": 1007.6, "i8": 1007.6, "f4": 2015.2, "f64": 1.95}

_ALL = (
    _hopper("h200", "NVIDIA H200 SXM", 4800.0 * GB, "NVIDIA H200 Tensor Core GPU Datasheet (bandwidth)", {
        "bandwidth": 4280.4 * GB, "tensor bf16": 797.5 * TERA, "tensor f16": 764.2 * TERA}),
    _hopper("h100", "NVIDIA H100 SXM", 3350.0 * GB, "NVIDIA H100 Tensor Core GPU Datasheet (bandwidth)", {}),
    DeviceLimits(
        "a100", "NVIDIA A100 SXM 80 GB", "sm_80", 108, 1.41e9, 40 * MIB, 2039.0 * GB,
        _rates(19.5, 9.7, _A100, 108, 1.41e9),
        ("NVIDIA A100 Tensor Core GPU Architecture (white paper)", "NVIDIA A100 80GB Datasheet (bandwidth)"),
        l2_partitions=2),
    DeviceLimits(
        "a40", "NVIDIA A40", "sm_86", 84, 1.74e9, 6 * MIB, 696.0 * GB, _rates(37.4, 0.585, _A40, 84, 1.74e9),
        ("NVIDIA Ampere GA102 GPU Architecture (white paper)", "NVIDIA A40 Datasheet (bandwidth)")),
    DeviceLimits(
        "l40", "NVIDIA L40", "sm_89", 142, 2.49e9, 96 * MIB, 864.0 * GB, _rates(90.5, 1.414, _L40, 142, 2.49e9),
        ("NVIDIA Ada GPU Architecture (white paper)", "NVIDIA L40 Datasheet (bandwidth)")),
    DeviceLimits(
        "b200", "NVIDIA B200 SXM", "sm_100a", 148, 1.85e9, 126 * MIB, 8000.0 * GB,
        _rates(75.0, 37.0, _B200, 148, 1.85e9), ("NVIDIA DGX B200 Datasheet, an eighth of it",), l2_partitions=2),
    DeviceLimits(
        "rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell", "sm_120a", 188, 2.6e9, 128 * MIB, 1792.0 * GB,
        _rates(125.0, 1.95, _PRO, 188, 2.6e9), ("NVIDIA RTX Blackwell PRO GPU Architecture (white paper)",)),
)
DEVICES: dict[str, DeviceLimits] = {device.name: device for device in _ALL}
"""By name. Measured limits of the H200: benchmarks/limits-h200.txt."""


def limits_of(name: str | DeviceLimits) -> DeviceLimits:
    """The record called `name`; TileValueError when there is none."""
    if isinstance(name, DeviceLimits):
        return name
    found = DEVICES.get(str(name).lower())
    if found is None:
        raise TileValueError(f"there is no GPU {name!r}", hints=[f"known are {', '.join(DEVICES)}"])
    return found


def limits_of_gpu(name: str) -> DeviceLimits | None:
    """The record of a GPU by what its driver calls it, such as "NVIDIA H100 80GB HBM3"."""
    words = name.lower().replace("-", " ").split()
    fitting = [d for d in DEVICES.values() if all(part in words for part in d.name.split("-"))]
    return fitting[0] if fitting else None
