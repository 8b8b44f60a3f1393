"""Loaded by every Python process of a benchmark: times optimizer steps, ours and theirs alike.

BENCH_TIMES=FILE    at exit, write the times at which optimizer steps ended, as JSON
BENCH_BFLOAT16=training|search      run the whole process under CPU autocast, for toolkits that
                    do not offer it; constant weights are then rounded only once
"""

import os

if os.environ.get("BENCH_TIMES") or os.environ.get("BENCH_BFLOAT16"):
    import atexit
    import json
    import time
    from pathlib import Path

    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    if os.environ.get("BENCH_BFLOAT16"):
        torch.set_autocast_cache_enabled(os.environ["BENCH_BFLOAT16"] == "search")
        torch.autocast("cpu", dtype=torch.bfloat16).__enter__()

    if target := os.environ.get("BENCH_TIMES"):
        moments: list[float] = []
        process, times = os.getpid(), Path(target)

        def note(*_: object) -> None:
            moments.append(time.perf_counter())

        def write() -> None:
            if os.getpid() == process and moments:
                times.write_text(json.dumps(moments))

        register_optimizer_step_post_hook(note)
        try:
            from dragoman.training.optimizers.interface import Optimizer
        except ImportError:
            pass  # in the environment of another toolkit
        else:
            step = Optimizer.step

            def step_and_note(self: Optimizer, learning_rate: float) -> None:
                step(self, learning_rate)
                note()

            Optimizer.step = step_and_note  # type: ignore[method-assign]
        atexit.register(write)
