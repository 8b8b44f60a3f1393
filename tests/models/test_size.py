"""Models that no memory holds are refused before any is asked for."""

from __future__ import annotations

import math

import pytest
import torch
from families import VARIATIONS
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.models import (
    FAMILIES,
    ConvS2SConfig,
    DeepFusionConfig,
    ModelConfig,
    RecurrentLMConfig,
    size,
)
from dragoman.models.cost import cost
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.families.transformer import (
    Transformer,
    TransformerConfig,
    TransformerMemory,
)
from dragoman.models.size import _most_parameters, check_size, meta_model

MEMORY = 16 * 10**9
"""Bytes of a usual machine."""


@pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS)
def test_the_rough_count_is_a_bound(config: ModelConfig) -> None:
    for vocabulary in (29, 3000):
        most = _most_parameters(config.model_dump(), vocabulary)
        assert most >= parameters(config, vocabulary)


def parameters(config: ModelConfig, vocabulary: int) -> int:
    model = FAMILIES[config.family](config, vocabulary, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    "sizes",
    [
        {"d_model": 2**20, "d_ff": 2**22, "heads": 16},
        {"d_ff": 10**12},
        {"positions": "learned", "max_positions": 10**12},
        {"heads": 1024, "d_k": 4096, "d_v": 4096},
        {"d_model": 2048, "d_ff": 2048, "heads": 64, "d_k": 2048, "d_v": 2048},
    ],
)
def test_one_larger_than_memory_is_refused(
    sizes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "machine_memory", lambda: MEMORY)
    with pytest.raises(ConfigError, match=r"model: [\d,]+ parameters, whose weights alone take"):
        check_size(TransformerConfig.model_validate(sizes), 29, 29)


@pytest.mark.parametrize(
    ("config", "vocabulary"),
    [
        (ConvS2SConfig(encoder_kernel_width=501, decoder_kernel_width=501), 29),
        (TransformerConfig(d_model=4096, d_ff=4096, encoder_layers=1, decoder_layers=1), 2_000_000),
    ],
)
def test_wide_kernels_and_large_vocabularies_count(
    config: ModelConfig, vocabulary: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "machine_memory", lambda: MEMORY)
    with pytest.raises(ConfigError, match=r"model: [\d,]+ parameters, whose weights alone take"):
        check_size(config, vocabulary, vocabulary)


def test_a_small_component_does_not_hide_a_large_one() -> None:
    large = RecurrentConfig(d_model=2**20)
    small = RecurrentLMConfig(d_model=8, layers=1)
    config = DeepFusionConfig(translation=large, language_model=small)
    with pytest.raises(ConfigError, match=r"model: [\d,]+ parameters, whose weights alone take"):
        check_size(config, 29, 29)


@pytest.mark.parametrize("config", [RecurrentConfig(d_model=2**61), TransformerConfig(d_ff=2**61)])
def test_one_beyond_what_can_be_addressed_is_refused(config: ModelConfig) -> None:
    with pytest.raises(ConfigError, match="model: too large for any machine"):
        check_size(config, 29, 29)


def test_memory_is_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    config = VARIATIONS["transformer"]
    needed = 4 * parameters(config, 29)
    monkeypatch.setattr(size, "_most_parameters", lambda *_: math.inf)
    monkeypatch.setattr(size, "machine_memory", lambda: needed)
    check_size(config, 29, 29)
    monkeypatch.setattr(size, "machine_memory", lambda: needed - 1)
    with pytest.raises(ConfigError, match="parameters, whose weights alone take"):
        check_size(config, 29, 29)


def test_sizes_in_use_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "meta_model", None)
    monkeypatch.setattr(size, "machine_memory", lambda: MEMORY)
    big = TransformerConfig(d_model=1024, d_ff=4096, heads=16)
    for config in (*VARIATIONS.values(), big, RecurrentConfig()):
        check_size(config, 32_000, 32_000)


def test_a_model_without_content_has_its_shapes() -> None:
    config = VARIATIONS["transformer"]
    empty = meta_model(config, 29, 29)
    assert {parameter.device.type for parameter in empty.parameters()} == {"meta"}
    assert sum(parameter.numel() for parameter in empty.parameters()) == parameters(config, 29)


class Learning(Transformer):
    """A Transformer with a learned number, whose first value it reads, as one of a package may."""

    def __init__(self, config: TransformerConfig, *vocabularies: int) -> None:
        super().__init__(config, *vocabularies)
        first = torch.tensor(0.5).log().item()
        self.temperature = nn.Parameter(torch.full((1,), first))
        self.fixed = nn.Parameter(torch.zeros(2), requires_grad=False)
        self.register_buffer("table", torch.zeros(3))


class Looking(Transformer):
    """A Transformer that looks at its source."""

    def encode(self, source: Tensor, source_mask: Tensor) -> TransformerMemory:
        assert source_mask.any().item()
        return super().encode(source, source_mask)


def test_a_family_that_reads_values_while_it_is_created_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=5, heads=2)
    before = cost(config, 29, 29)
    monkeypatch.setattr(size, "FAMILIES", {"transformer": Learning})
    empty = meta_model(config, 29, 29)
    assert isinstance(empty, Learning)
    assert {one.device.type for one in (*empty.parameters(), *empty.buffers())} == {"meta"}
    assert empty.output.weight is empty.source_embedding.weight
    assert empty.temperature.requires_grad
    assert not empty.fixed.requires_grad
    after = cost(config, 29, 29)
    assert after.total_parameters == before.total_parameters + 3
    assert after.frozen_parameters == 2
    assert after.flops_per_target_token == before.flops_per_target_token


def test_a_family_that_reads_values_while_it_encodes_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=5, heads=2)
    monkeypatch.setattr(size, "FAMILIES", {"transformer": Looking})
    with pytest.raises(ConfigError, match="family: transformer reads values while it encodes"):
        cost(config, 29, 29)
