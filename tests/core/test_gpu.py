"""A GPU computes what the processor does (``make test-gpu``); skipped where there is none."""

from __future__ import annotations

import math

import pytest
import torch
from families import VARIATIONS, build

from dragoman.core.device import available_memory, computes_bfloat16, find_device
from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: make test-gpu"),
    pytest.mark.filterwarnings("ignore:RNN module weights are not part of single contiguous"),
]

CPU, GPU = torch.device("cpu"), torch.device("cuda")
every_family = pytest.mark.parametrize("name", VARIATIONS)


@pytest.fixture(autouse=True)
def exact_products() -> None:
    torch.backends.cudnn.allow_tf32 = False


@pytest.fixture
def batch() -> Batch:
    return make_batch(
        [[4, 5, 6], [7], [8, 9], [10, 11, 12, 13]], [[5, 6], [7, 8, 9], [4], [10, 9, 8, 7, 6]]
    )


def gradient(model: TranslationModel, batch: Batch) -> tuple[float, torch.Tensor]:
    """The loss of a batch and its gradient, by the model where it is."""
    optimizer = Replicas(model, AdamConfig(), torch.float32)
    loss = CrossEntropy(0.1).backward(model, batch)["loss"]
    optimizer.collect()
    return float(loss), optimizer.gradient.cpu()


@every_family
def test_loss_and_gradient_are_those_of_the_processor(name: str, batch: Batch) -> None:
    # The choice of experts is noisy in training, and each device draws its own noise.
    model, same = (build(VARIATIONS[name]).float().train("experts" not in name) for _ in range(2))
    expected = gradient(model, batch)
    found = gradient(same.to(GPU), batch.to(GPU))
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    difference = (found[1] - expected[1]).norm() / expected[1].norm()
    assert difference < 1e-4


@every_family
def test_search_finds_what_it_finds_on_the_processor(name: str, batch: Batch) -> None:
    wanted = SearchConfig(beam=3, nbest=2, extra_length=3)
    expected = search(
        ModelScorer(build(VARIATIONS[name]).float()), batch.source, batch.source_mask, wanted
    )
    on_gpu = batch.to(GPU)
    found = search(
        ModelScorer(build(VARIATIONS[name]).float().to(GPU)),
        on_gpu.source,
        on_gpu.source_mask,
        wanted,
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert ours[0].ids == theirs[0].ids  # classes may share the second place
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], rel=1e-4)


@every_family
def test_a_step_in_bfloat16_is_finite(name: str, batch: Batch) -> None:
    model = build(VARIATIONS[name]).float().train().to(GPU)
    optimizer = Replicas(model, AdamConfig(clip_norm=1.0), torch.bfloat16)
    CrossEntropy(0.1).backward(model, batch.to(GPU))
    optimizer.collect()
    assert math.isfinite(optimizer.scale(1 / batch.target_tokens))
    optimizer.step(1e-3)
    assert all(bool(weight.isfinite().all()) for weight in optimizer.weights().values())


def test_what_is_available_is_the_memory_of_the_card() -> None:
    assert find_device(None) == GPU
    assert computes_bfloat16(GPU) == (torch.cuda.get_device_capability() >= (8, 0))
    total = torch.cuda.get_device_properties(GPU).total_memory
    assert 0 < available_memory(GPU) <= total
