"""The kind of machine that a table was measured on."""

from __future__ import annotations

import os
import platform
from datetime import date

import torch

from dragoman.core.device import processor_name

THREADS = 2
"""Of every contender that is not said to have another number."""


def processor() -> str:
    """Name and what decides about speed: width of vectors, and bfloat16 or matrices in hardware."""
    features = [torch.backends.cpu.get_cpu_capability()]
    if torch.cpu._is_avx512_bf16_supported():
        features.append("BF16")
    if torch.cpu._is_amx_tile_supported():
        features.append("AMX")
    return f"{processor_name(torch.device('cpu'))} ({', '.join(features)})"


def machine(threads: int = THREADS) -> str:
    """The date, the machine and the software for which figures hold."""
    cores = len(os.sched_getaffinity(0))
    return (
        f"{date.today()}, {processor()}, {threads} of {cores} cores, "
        f"torch {torch.__version__}, Python {platform.python_version()}"
    )
