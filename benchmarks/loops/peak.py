"""The machine's matrix-product peak: GFLOP/s by type, as one JSON line."""

import json
import time

import torch


def peak(dtype: torch.dtype, width: int = 2048, repeats: int = 12) -> float:
    a, b = (torch.randn(width, width).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * width**3 / best / 1e9


print(json.dumps({"float32": peak(torch.float32), "bfloat16": peak(torch.bfloat16)}))
