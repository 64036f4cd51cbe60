"""The GPUs we compile for: one frozen record each. No other code compares compute capabilities.

docs/adding-a-target.md says what a new record needs. All lists of targets are made of TARGETS.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError
from tilewright.tileir.records import record
from tilewright.tileir.tensor_cores import ADA, AMPERE, BLACKWELL, HOPPER, TensorCores

KIB = 1024


@record
class Target:
    """What one GPU architecture can do. Sizes are bytes; counts are per SM unless said otherwise.

    `ptx` is the PTX ISA version (80 means 8.0) of the text that we make: the floor of the target until `with_ptx`
    raises it to what the driver takes.
    """

    name: str
    capability: tuple[int, int]
    exact: bool  # an "a" target: its code runs on this capability only
    ptx: int
    shared_per_block: int  # with the opt-in of cuFuncSetAttribute; 48 KiB without
    shared_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int = 65536
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    # Per cycle, from the white papers and the CUDA C++ Programming Guide (resources/pipes.py has the sources).
    mma_rate: int = 1024  # dense multiply-adds of 16-bit operands
    fma_rate: int = 128  # float32 multiply-adds

    has_bf16_atomic: bool = False  # atom.add.noftz.bf16
    has_vector_adds: bool = False  # red.add of v2 to v8
    has_fp8_cvt: bool = False  # cvt between e4m3/e5m2 and f16/f32
    # mma.sync of e4m3 and e5m2 in hardware (QMMA). sm_90a and sm_100a have none: ptxas makes conversions and HMMA of
    # it, and ptxas 13.0 may convert an immediate of 0x24 where a register of the operands is known to be zero.
    has_fp8_mma: bool = False
    has_packed_floats: bool = False  # fma.f32x2: pairs of float32 by one instruction
    has_stmatrix: bool = False
    has_cluster: bool = False
    has_tma: bool = False  # cp.async.bulk.tensor and mbarrier.try_wait
    has_grid_control: bool = False  # griddepcontrol, of programmatic dependent launch
    has_map_tables: bool = False  # fence.proxy.tensormap, for tensor maps in global memory (MAP_TABLE_PTX)
    matrix_units: tuple[str, ...] = ("mma.sync", "fma")  # the preferred one first; records in ops/units.py
    tensor_cores: TensorCores = AMPERE  # how they add

    @property
    def sm(self) -> int:
        """The capability as instruction records name it: 90 for 9.0."""
        return 10 * self.capability[0] + self.capability[1]

    def up_to_unit(self, name: str | None) -> Target:
        """The same target without the matrix units that it prefers to this one."""
        return self if name is None else replace(self, matrix_units=self.matrix_units[self.matrix_units.index(name):])

    def with_ptx(self, version: int) -> Target:
        """The same target with PTX text of this version, which the floor and LLVM's newest one limit."""
        tables = self.has_map_tables and version >= MAP_TABLE_PTX
        return replace(self, ptx=max(self.ptx, min(version, NEWEST_PTX)), has_map_tables=tables)

    def at_least(self, version: int) -> Target:
        """The same target for a text that needs this version, whatever its floor."""
        return self if self.ptx >= version else replace(self, ptx=version)

    def __str__(self) -> str:
        return self.name


# LLVM 22 knows no newer one. A driver takes every version up to its own.
NEWEST_PTX = 90
# CUDA 12.3 brought the fence of tensor maps.
MAP_TABLE_PTX = 83


_HOPPER: dict[str, Any] = dict(
    has_bf16_atomic=True, has_vector_adds=True, has_fp8_cvt=True, has_stmatrix=True, has_cluster=True, has_tma=True,
    has_map_tables=True, has_grid_control=True)
_BLACKWELL = _HOPPER | {"tensor_cores": BLACKWELL, "has_packed_floats": True}

SM_80 = Target("sm_80", (8, 0), False, 80, 163 * KIB, 164 * KIB, 2048, 32, fma_rate=64)
SM_86 = Target("sm_86", (8, 6), False, 80, 99 * KIB, 100 * KIB, 1536, 16, mma_rate=512)
# Conversions to float8 came to Ada with PTX 8.1: below it, what the hardware does would have to be refused.
SM_89 = Target("sm_89", (8, 9), False, 81, 99 * KIB, 100 * KIB, 1536, 24, mma_rate=256, has_fp8_cvt=True,
                has_fp8_mma=True, tensor_cores=ADA)
# So did stores between CTAs (st.async).
SM_90A = Target("sm_90a", (9, 0), True, 81, 227 * KIB, 228 * KIB, 2048, 32, matrix_units=("wgmma", "mma.sync", "fma"),
                mma_rate=2048, tensor_cores=HOPPER, **_HOPPER)
# +ptx80 makes LLVM exit the process for these two: their floors are 8.6 and 8.7.
SM_100A = Target("sm_100a", (10, 0), True, 86, 227 * KIB, 228 * KIB, 2048, 32, mma_rate=4096, **_BLACKWELL)
SM_120A = Target("sm_120a", (12, 0), True, 87, 99 * KIB, 100 * KIB, 1536, 24, mma_rate=512, has_fp8_mma=True,
                 **_BLACKWELL)

TARGETS: dict[str, Target] = {t.name: t for t in (SM_80, SM_86, SM_89, SM_90A, SM_100A, SM_120A)}
DEFAULT = SM_90A


def get_target(name: str | Target) -> Target:
    """The record called `name`; TileValueError when there is none."""
    if isinstance(name, Target):
        return name
    found = TARGETS.get(name) or TARGETS.get(f"{name}a")
    if found is None:
        raise TileValueError(f"unknown target {name!r}", hints=[f"known targets: {', '.join(TARGETS)}"])
    return found


def for_device(capability: tuple[int, int]) -> Target:
    """The best target whose code runs on a device of this compute capability.

    An "a" target runs on its own capability only; any other PTX runs on every later device too.
    """
    fitting = [t for t in TARGETS.values() if (t.capability == capability if t.exact else t.capability <= capability)]
    if not fitting:
        raise TileUnsupportedFeatureError(
            f"GPUs of compute capability {capability[0]}.{capability[1]} are not supported",
            hints=["kernels run on NVIDIA GPUs from compute capability 8.0 (Ampere) on; "
                   "without one, pass host arrays: they run in the interpreter"])
    return max(fitting, key=lambda t: t.capability)


def ptx_version_of_driver(driver_version: int) -> int:
    """The newest PTX version (80 for 8.0) that a driver takes, from cuDriverGetVersion (13000 for CUDA 13.0)."""
    major, minor = driver_version // 1000, driver_version % 1000 // 10
    if major < 12:
        raise TileUnsupportedFeatureError(
            f"the NVIDIA driver is too old: it supports CUDA {major}.{minor}",
            hints=["install a driver for CUDA 12.0 or later"])
    if major == 12:
        return _PTX_OF_CUDA_12[min(minor, 9)]
    return NEWEST_PTX


def target_of_driver(capability: tuple[int, int], driver_version: int) -> Target:
    """What runs best on a device of this compute capability with a driver of this version (cuDriverGetVersion).

    Raises TileUnsupportedFeatureError where there is none.
    """
    target, newest = for_device(capability), ptx_version_of_driver(driver_version)
    if newest < target.ptx:
        minor = _PTX_OF_CUDA_12.index(target.ptx)
        raise TileUnsupportedFeatureError(
            f"the NVIDIA driver is too old for this GPU: it supports CUDA {driver_version // 1000}."
            f"{driver_version % 1000 // 10}", hints=[f"install a driver for CUDA 12.{minor} or later"])
    return target.with_ptx(newest)


# Release notes of the PTX ISA: CUDA 12.6 came without a new version.
_PTX_OF_CUDA_12 = (80, 81, 82, 83, 84, 85, 85, 86, 87, 88)
