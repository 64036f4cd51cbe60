"""What calls of the driver answer, and names of which only the identity matters."""

from __future__ import annotations

import enum


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910


class Names:
    """Any attribute is its own name: enumerations of which only the identity matters."""

    def __getattr__(self, name: str) -> str:
        return name
