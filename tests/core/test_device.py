from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from families import VARIATIONS, build, variations

from dragoman.core import device
from dragoman.core.device import (
    available_memory,
    computes_bfloat16,
    decide_precision,
    is_emulated,
    keep_freed_memory,
    machine_memory,
    return_freed_memory,
    working_precision,
)
from dragoman.data.batches import Batch, make_batch
from dragoman.models import ModelConfig, TransformerConfig
from dragoman.search import ModelScorer, SearchConfig, score_targets, search
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas

CPU = torch.device("cpu")


def test_precision_is_what_was_asked_for() -> None:
    assert working_precision("float32", CPU) == torch.float32
    assert working_precision("bfloat16", CPU) == torch.bfloat16


@pytest.mark.parametrize(("has", "auto"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_what_the_hardware_has(
    has: bool, auto: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "computes_bfloat16", lambda where: has)
    assert decide_precision("auto", CPU) == auto
    assert working_precision("auto", CPU) == getattr(torch, auto)
    assert is_emulated("bfloat16", CPU) == (not has)
    assert decide_precision("bfloat16", CPU) == "bfloat16"
    assert not is_emulated("float32", CPU)


@pytest.mark.parametrize(
    ("machine", "onednn", "avx512_bf16", "amx", "expected"),
    [
        ("x86_64", True, True, False, True),
        ("AMD64", True, False, True, True),
        ("x86_64", True, False, False, False),  # AVX-512 without BF16: oneDNN converts
        ("x86_64", False, True, True, False),  # oneDNN held back to AVX2
        ("aarch64", True, False, False, True),
        ("arm64", False, False, False, False),
    ],
)
def test_a_processor_has_bfloat16_by_its_instructions(
    machine: str,
    onednn: bool,
    avx512_bf16: bool,
    amx: bool,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: onednn, raising=False
    )
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert computes_bfloat16(CPU) == expected
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not computes_bfloat16(CPU)


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="needs Linux's list of flags")
def test_what_is_said_of_this_processor_stands_in_its_flags() -> None:
    flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    if computes_bfloat16(CPU):
        assert flags & {"avx512_bf16", "amx_bf16", "bf16"}


def test_other_devices_have_none() -> None:
    assert not computes_bfloat16(torch.device("meta"))


def test_memory_setting_is_harmless() -> None:
    keep_freed_memory()
    return_freed_memory()
    assert torch.ones(1000, 1000).sum() == 1e6


# Stands in for the host of a GPU: whatever is made without saying where lands on a device
# without data, and every operation that mixes it with the model's tensors fails.
ELSEWHERE = torch.device("meta")


@pytest.fixture(scope="module", autouse=True)
def _compiler() -> None:
    """PyTorch 2.6 imports its compiler with the first optimizer, which must not be elsewhere."""
    torch.optim.Adam([torch.zeros(1)])


@pytest.fixture
def batch() -> Batch:
    return make_batch([[4, 5, 6], [7], [8, 9]], [[5, 6], [7, 8, 9], [4]])


@pytest.mark.parametrize("config", variations())
def test_a_step_of_training_stays_on_the_device_of_the_model(
    config: ModelConfig, batch: Batch
) -> None:
    model = build(config).float().train()
    with ELSEWHERE:
        optimizer = Replicas(model, AdamConfig(clip_norm=1.0), torch.bfloat16)
        loss = CrossEntropy(0.1).backward(model, batch.to(CPU))
        optimizer.collect()
        norm = optimizer.scale(1 / batch.target_tokens)
        optimizer.step(1e-3)
    assert math.isfinite(norm) and loss["nll"].device == CPU
    assert all(tensor.device == CPU for tensor in optimizer.weights().values())


# A family knows nothing of the ways to search: each family in one way, each way with one family.
@pytest.mark.parametrize("config", variations())
def test_search_stays_on_the_device_of_the_model(config: ModelConfig, batch: Batch) -> None:
    check_that_search_stays(config, {"beam": 3, "nbest": 2}, batch)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"beam": 1}, id="greedy"),
        pytest.param({"beam": 2, "no_repeat_ngram": 2, "minimum_length": 3}, id="constraints"),
        pytest.param({"sampling": {"top_k": 5, "top_p": 0.9}, "nbest": 2}, id="sampling"),
    ],
)
def test_each_way_to_search_stays_there(options: dict[str, object], batch: Batch) -> None:
    check_that_search_stays(VARIATIONS["transformer"], options, batch)


def check_that_search_stays(config: ModelConfig, options: dict[str, object], batch: Batch) -> None:
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


def test_what_is_available_is_a_part_of_the_machine() -> None:
    assert 1e8 < available_memory(torch.device("cpu")) <= machine_memory() < 1e15
