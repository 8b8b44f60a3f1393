from __future__ import annotations

import math

import pytest
import torch
from families import VARIATIONS, build

from dragoman.data.batches import Batch, make_batch
from dragoman.device import keep_freed_memory, working_precision
from dragoman.models import ModelConfig, TransformerConfig
from dragoman.search import ModelScorer, SearchConfig, score_targets, search
from dragoman.training.loss import backward
from dragoman.training.optimizer import FlatOptimizer, OptimizerConfig

CPU = torch.device("cpu")


def test_precision_is_what_was_asked_for() -> None:
    assert working_precision("float32", CPU) == torch.float32
    assert working_precision("bfloat16", CPU) == torch.bfloat16
    assert working_precision("auto", CPU) in {torch.float32, torch.bfloat16}


def test_memory_setting_is_harmless() -> None:
    keep_freed_memory()
    assert torch.ones(1000, 1000).sum() == 1e6


# Stands in for the host of a GPU: whatever is made without saying where lands on a device
# without data, and every operation that mixes it with the model's tensors fails.
ELSEWHERE = torch.device("meta")


@pytest.fixture
def batch() -> Batch:
    return make_batch([[4, 5, 6], [7], [8, 9]], [[5, 6], [7, 8, 9], [4]])


@pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_a_step_of_training_stays_on_the_device_of_the_model(
    config: ModelConfig, batch: Batch
) -> None:
    model = build(config).float().train()
    with ELSEWHERE:
        optimizer = FlatOptimizer(model, OptimizerConfig(clip_norm=1.0), torch.bfloat16)
        loss = backward(model, batch.to(CPU), smoothing=0.1)
        optimizer.collect()
        norm = optimizer.scale(1 / batch.target_tokens)
        optimizer.step(1e-3)
    assert math.isfinite(norm) and loss.nll.device == CPU
    assert all(tensor.device == CPU for tensor in optimizer.weights().values())


# A family knows nothing of the ways to search: each family in one way, each way with one family.
SEARCHES = [
    *(pytest.param(c, {"beam": 3, "nbest": 2}, id=name) for name, c in VARIATIONS.items()),
    *(
        pytest.param(VARIATIONS["transformer"], options, id=way)
        for way, options in {
            "greedy": {"beam": 1},
            "constraints": {"beam": 2, "no_repeat_ngram": 2, "minimum_length": 3},
            "sampling": {"sampling": {"top_k": 5, "top_p": 0.9}, "nbest": 2},
        }.items()
    ),
]


@pytest.mark.parametrize(("config", "options"), SEARCHES)
def test_search_stays_on_the_device_of_the_model(
    config: ModelConfig, options: dict[str, object], batch: Batch
) -> None:
    scorer = ModelScorer(build(config).float())
    wanted = SearchConfig(extra_length=3, **options)
    prefixes = [[4], [], [5, 6]]
    expected = search(scorer, batch.source, batch.source_mask, wanted, prefixes=prefixes)
    with ELSEWHERE:
        found = search(scorer, batch.source, batch.source_mask, wanted, prefixes=prefixes)
    assert found == expected


def test_scoring_stays_on_the_device_of_the_model(batch: Batch) -> None:
    scorer = ModelScorer(build(TransformerConfig(d_model=8, d_ff=8, heads=2)).float())
    arguments = (batch.source, batch.source_mask, batch.target_input, batch.target_output)
    expected = score_targets(scorer, *arguments)
    with ELSEWHERE:
        assert torch.equal(score_targets(scorer, *arguments), expected)
