"""What the machine offers: device, precision, memory."""

from __future__ import annotations

import ctypes
import time
from typing import Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


def best_device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def working_precision(wanted: Precision, device: torch.device) -> torch.dtype:
    """The type a model computes in; ``auto`` is bfloat16 where that is faster, by trying it."""
    if wanted == "auto":
        wanted = "bfloat16" if _bfloat16_is_faster(device) else "float32"
    return torch.bfloat16 if wanted == "bfloat16" else torch.float32


def _bfloat16_is_faster(device: torch.device) -> bool:
    """Time a small matrix product in both; some CPUs emulate bfloat16 a hundred times slower."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)

    def seconds(dtype: torch.dtype) -> float:
        a = torch.ones(192, 192, dtype=dtype)
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - start)
        return best

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a busy machine, waiting for other threads would be measured
    try:
        return seconds(torch.bfloat16) < 0.8 * seconds(torch.float32)
    finally:
        torch.set_num_threads(threads)


def keep_freed_memory() -> None:
    """Let the C library keep freed memory instead of returning it to the system each step.

    A step of training or of search frees and takes the same large blocks again; fetching them
    anew costs a page fault for each 4 KiB, a fifth of the time of searching with a small model.
    Only glibc has this setting; elsewhere nothing happens.
    """
    try:
        library = ctypes.CDLL("libc.so.6")
    except OSError:
        return
    library.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    library.mallopt(_M_TRIM_THRESHOLD, -1)
