"""Device, precision and memory of this machine."""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Literal

import torch

from dragoman.core.errors import ConfigError, UsageError
from dragoman.core.wording import shown

Precision = Literal["auto", "float32", "bfloat16"]
DecidedPrecision = Literal["float32", "bfloat16"]
SearchPrecision = Literal[DecidedPrecision, "int8"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


def best_device() -> torch.device:
    """A GPU if available, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def processor_name(device: torch.device) -> str:
    """The maker's name of a processor, such as ``NVIDIA H100``, or its kind if it has no name."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "cpu":
        with suppress(OSError):
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        return platform.processor() or platform.machine()
    return device.type


def find_device(wanted: torch.device | str | None) -> torch.device:
    """The requested device, such as ``cuda:1``; by default, a GPU if available."""
    if wanted is None:
        return best_device()
    if not isinstance(wanted, (str, torch.device)):
        raise UsageError(
            f"device: expected a string such as 'cpu' or 'cuda:1', found {shown(wanted)}"
        )
    try:
        torch.zeros(1, device=wanted).item()  # "meta" makes tensors too, and holds nothing
    # AssertionError: built without CUDA.  ImportError: a device that needs an extension.
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {str(wanted)!r} cannot be used: {reason}") from error
    return torch.device(wanted)


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the hardware has bfloat16 arithmetic that PyTorch uses; otherwise it is emulated.

    On a CPU: AVX512_BF16 or AMX (x86) or BF16 (ARM), and oneDNN, which alone has kernels for it.
    On a GPU: AMD's, and NVIDIA's from compute capability 8 on.
    """
    if device.type == "cuda":
        with torch.cuda.device(device):
            return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    if platform.machine().lower() in {"aarch64", "arm64"}:
        return True
    # On x86, oneDNN reports support for all of AVX-512, but converts to float32 where needed.
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def decide_precision(wanted: Precision, device: torch.device) -> DecidedPrecision:
    """The precision to compute in: ``auto`` is bfloat16 if the hardware has it.

    Callers with several processes, or that resume later, decide once and keep the result.
    """
    if wanted == "auto":
        return "bfloat16" if computes_bfloat16(device) else "float32"
    return wanted


def is_emulated(precision: DecidedPrecision, device: torch.device) -> bool:
    """Whether ``device`` lacks this arithmetic: results are right, but up to 100 times as slow."""
    return precision == "bfloat16" and not computes_bfloat16(device)


def working_precision(wanted: Precision, device: torch.device) -> torch.dtype:
    """The type that a model computes in; ``auto`` is resolved by :func:`decide_precision`."""
    return torch.bfloat16 if decide_precision(wanted, device) == "bfloat16" else torch.float32


def usable_cores() -> int:
    """The processor's cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> float:
    """Bytes of memory of the whole machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def available_memory(device: torch.device) -> float:
    """Bytes of memory available on a GPU, or on the system within the container's limit."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return min(_system_memory(), _container_memory())


def _system_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    return machine_memory()


def _container_memory() -> float:
    """Bytes left within the limit of the control group; infinity if there is none."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = (group / "memory.current").read_text(encoding="ascii")
        return float("inf") if limit == "max" else float(limit) - float(used)
    except (OSError, ValueError):
        return float("inf")


def keep_freed_memory() -> None:
    """Make the C library keep freed memory instead of returning it to the system each step.

    A step of training or of search frees and allocates the same large blocks.  Fetching them from
    the system again costs a page fault per 4 KiB, a fifth of the time of searching with a small
    model.  Only glibc has this setting; elsewhere this does nothing.
    """
    if (library := _glibc()) is None:
        return
    library.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    library.mallopt(_M_TRIM_THRESHOLD, -1)


def return_freed_memory() -> None:
    """Make the C library return the memory that it has kept to the system, where it is glibc."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libc.so.6")
    except OSError:
        return None
