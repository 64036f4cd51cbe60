"""Options of operations that users name: rounding, padding, memory order and scope."""

from __future__ import annotations

import enum


class RoundingMode(enum.Enum):
    """How a float result is rounded. Each operation says which members it takes.

    - `RN`: to the nearest value, of two equally near ones to the even one: the default
    - `RZ`: toward zero
    - `RM`: toward minus infinity
    - `RP`: toward plus infinity
    - `RA`: to the nearest value, of two equally near ones away from zero (conversions only)
    - `FULL`: fast and accurate, for division, exp and tanh of float32
    - `APPROX`: the hardware's approximation, for division, sqrt, exp and tanh of float32
    - `RZI`: to the nearest integer toward zero (no operation takes it)
    """

    RN = "nearest_even"
    RZ = "zero"
    RM = "negative_inf"
    RP = "positive_inf"
    RA = "nearest_away"
    FULL = "full"
    APPROX = "approx"
    RZI = "nearest_int_to_zero"


class PaddingMode(enum.Enum):
    """What a load yields for elements outside the array.

    - `UNDETERMINED`: nothing may be assumed: the default, for elements that are never used (they read as zero, for now)
    - `ZERO`: 0
    - `NEG_ZERO`: -0.0
    - `NAN`: a NaN
    - `POS_INF`: infinity: neutral for a minimum
    - `NEG_INF`: minus infinity: neutral for a maximum
    """

    UNDETERMINED = "undetermined"
    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


class MemoryOrder(enum.Enum):
    """How an access is ordered towards other blocks.

    - `WEAK`: not at all, for data that no other block writes: the default of loads and stores
    - `RELAXED`: the access itself is seen by others, nothing is said of accesses around it
    - `ACQUIRE`: later accesses of this block see what was written before the matching RELEASE
    - `RELEASE`: what this block wrote before is seen by whoever acquires the value
    - `ACQ_REL`: both, for atomics: their default
    """

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemoryScope(enum.Enum):
    """Who takes part in an ordered access.

    - `NONE`: nobody: goes with WEAK, and only with it
    - `BLOCK`: this block
    - `CLUSTER`: the CTAs of a cluster (not usable in kernels)
    - `DEVICE`: all blocks on this GPU: the default of atomics
    - `SYS`: the whole system: other GPUs and the host
    """

    NONE = "none"
    BLOCK = "block"
    CLUSTER = "cluster"
    DEVICE = "device"
    SYS = "sys"


class Form(enum.Enum):
    """How a GPU computes a function or quotient of float32. Interpreters compute all forms alike.

    - `USES`: as its uses tolerate (`tileir/analysis/tolerances.py`): the default
    - `ACCURATE`: within 2 ulp, whatever they tolerate
    - `RELATIVE`: within 64 ulp
    - `FLUSHED`: within 64 ulp, and zero below 2**-126
    - `BESIDE_ONE`: an error function so near that a sum or difference of one and it is within 128 ulp, or 2**-22
    - `WEIGHT`: so, and a sum with one that is only multiplied by numbers of its operand's sign
    """

    USES = "uses"
    ACCURATE = "accurate"
    RELATIVE = "relative"
    FLUSHED = "flushed"
    BESIDE_ONE = "beside_one"
    WEIGHT = "weight"
