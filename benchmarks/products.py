"""Matrix products of the sizes of decoding, in GFLOP/s: which way is fastest.

    products.py [--rows 64,256,600]

``linear`` is PyTorch's (MKL in float32, oneDNN in bfloat16), ``oneDNN`` packs weights at every
call, ``packed`` once (:mod:`dragoman.translation.engines.packing`).  ``int8`` is the layer that
multiplies integers (:mod:`dragoman.translation.engines.quantised`), with the factors of its rows.
The last column is of the fastest to ``linear``.  ``OMP_NUM_THREADS`` says on how many threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from dragoman.translation.engines.quantised import QuantisedLinear

SIZES = ((128, 128), (128, 256), (128, 8000), (512, 512), (512, 2048), (2048, 512), (512, 8000))
REPEATS, SECONDS = 4, 0.015


def rate(product: Callable[[], object], operations: float) -> float:
    """GFLOP/s of the best of several short runs."""
    product()
    best = float("inf")
    for _ in range(REPEATS):
        started, calls = time.perf_counter(), 0
        while time.perf_counter() - started < SECONDS:
            product()
            calls += 1
        best = min(best, (time.perf_counter() - started) / calls)
    return operations / best / 1e9


def measure(rows: int, inputs: int, outputs: int, dtype: torch.dtype) -> list[float]:
    """Of all ways, those of integers in float32 alone."""
    x, weight = torch.randn(rows, inputs).to(dtype), torch.randn(outputs, inputs).to(dtype)
    ops: Any = torch.ops.mkldnn
    packed = ops._reorder_linear_weight(weight, None)
    ways: list[Callable[[], object]] = [
        lambda: functional.linear(x, weight),
        lambda: ops._linear_pointwise(x, weight, None, "none", [], ""),
        lambda: ops._linear_pointwise(x, packed, None, "none", [], ""),
    ]
    if dtype is torch.float32:
        layer = nn.Linear(inputs, outputs, bias=False)
        layer.weight = nn.Parameter(weight)
        integers = QuantisedLinear(layer)
        ways.append(lambda: integers(x))
    return [rate(way, 2.0 * rows * inputs * outputs) for way in ways]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="16,64,256,600")
    rows = map(int, parser.parse_args().rows.split(","))
    print("| rows | inputs x outputs | number type | linear | oneDNN | packed | int8 | |")
    print("|---:|---|---|---:|---:|---:|---:|---:|")
    for count in rows:
        for inputs, outputs in SIZES:
            for dtype in (torch.float32, torch.bfloat16):
                rates = measure(count, inputs, outputs, dtype)
                name = str(dtype).removeprefix("torch.")
                cells = [f"{one:.0f}" for one in rates] + [""] * (4 - len(rates))
                print(
                    f"| {count} | {inputs} x {outputs} | {name} | {' | '.join(cells)} "
                    f"| {max(rates) / rates[0]:.2f}x |",
                    flush=True,
                )


if __name__ == "__main__":
    with torch.inference_mode():
        main()
