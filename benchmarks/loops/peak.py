"""The machine's matrix-product peak: GFLOP/s by type, as one JSON line."""

import json
import time

import torch

# Where the processor has no bfloat16, PyTorch takes a minute for a product.
LONGEST_SECONDS = 10


def peak(dtype: torch.dtype, width: int = 2048, repeats: int = 12) -> float:
    a, b = (torch.randn(width, width).to(dtype) for _ in range(2))
    best, end = float("inf"), time.perf_counter() + LONGEST_SECONDS
    for _ in range(repeats):
        if time.perf_counter() > end:
            break
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * width**3 / best / 1e9


print(json.dumps({"float32": peak(torch.float32), "bfloat16": peak(torch.bfloat16)}))
