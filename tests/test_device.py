from __future__ import annotations

import torch

from dragoman.device import keep_freed_memory, working_precision

CPU = torch.device("cpu")


def test_precision_is_what_was_asked_for() -> None:
    assert working_precision("float32", CPU) == torch.float32
    assert working_precision("bfloat16", CPU) == torch.bfloat16
    assert working_precision("auto", CPU) in {torch.float32, torch.bfloat16}


def test_memory_setting_is_harmless() -> None:
    keep_freed_memory()
    assert torch.ones(1000, 1000).sum() == 1e6
