"""Where the time of beam search goes: the processor's time of each operation, and of a search.

    search_profile.py [--size tiny] [--precision float32]

Fresh weights, one batch of 136 invented lines of 14 pieces, beam 4, outputs of 15 pieces, one
thread.  Times are the processor's, so other work on the machine changes them less than the clock.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import torch
from shared_material import SIZES, transformer
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.core.device import keep_freed_memory
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.text.vocabularies import EOS
from dragoman.translation.engines.packing import pack_weights

PIECES, LINES, LENGTH, BEAM = 8000, 136, 15, 4
ROUNDS, SHOWN = 3, 30


class ProcessorTime(TorchDispatchMode):
    """Seconds and calls of each operation."""

    def __init__(self) -> None:
        base: Any = super()
        base.__init__()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        started = time.thread_time()
        result = operation(*args, **(kwargs or {}))
        self.seconds[str(operation)] += time.thread_time() - started
        self.calls[str(operation)] += 1
        return result


def searching(size: str, precision: str) -> Callable[[], object]:
    """A search to be measured."""
    torch.manual_seed(1)
    model = Transformer(TransformerConfig.model_validate(transformer(size)), PIECES, PIECES).eval()
    model.to(getattr(torch, precision))
    pack_weights(model)
    source = torch.randint(10, PIECES, (LINES, LENGTH))
    source[:, -1] = EOS
    config = SearchConfig(
        beam=BEAM, minimum_length=LENGTH, maximum_length=LENGTH, degenerate="keep"
    )
    scorer, mask = ModelScorer(model), torch.ones_like(source, dtype=torch.bool)
    return lambda: search(scorer, source, mask, config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    run = searching(given.size, given.precision)
    run()
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    print(f"{LINES / best:.1f} sentences per second of the processor")
    found: list[ProcessorTime] = []
    for _ in range(ROUNDS):
        with ProcessorTime() as mode:
            run()
        found.append(mode)
    least = min(found, key=lambda mode: sum(mode.seconds.values()))
    total = sum(least.seconds.values())
    print("| operation | ms | share | calls |\n|---|---:|---:|---:|")
    slowest = sorted(least.seconds.items(), key=lambda item: -item[1])
    for name, seconds in slowest[:SHOWN]:
        print(f"| {name} | {seconds * 1e3:.1f} | {seconds / total:.1%} | {least.calls[name]} |")


if __name__ == "__main__":
    main()
