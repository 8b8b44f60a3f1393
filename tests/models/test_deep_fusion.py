"""Deep fusion against its formula, and which of its weights learn."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from families import VARIATIONS, VOCABULARY, build, full, random_ids, teacher_force
from torch import Tensor, nn

from dragoman.models import (
    FAMILIES,
    ClassifierConfig,
    ConvS2SConfig,
    DeepFusionConfig,
    RecurrentConfig,
    RecurrentLMConfig,
    TransformerConfig,
    TransformerLMConfig,
)
from dragoman.models.cost import cost
from dragoman.models.deep_fusion import DeepFusion
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import Dropout
from dragoman.models.registry import NamedModelConfig

FUSED = [name for name in VARIATIONS if name.startswith("deep_fusion")]
SOURCE, TARGET = random_ids(3, 5), random_ids(3, 7, seed=2)


def fresh(name: str = "deep_fusion", **changes: object) -> DeepFusion:
    """As training finds it: unlike those of ``build``, its last matrix is still zero."""
    config = VARIATIONS[name].model_copy(update=changes)
    torch.manual_seed(3)
    model = FAMILIES[config.family](config, VOCABULARY, VOCABULARY).double().eval()
    assert isinstance(model, DeepFusion)
    return model


def hidden_of(model: TranslationModel, source: Tensor) -> np.ndarray:
    memory = model.encode(source, full(source))
    return model.decode(TARGET, memory, model.start(memory))[0].detach().numpy()


@pytest.mark.parametrize("name", FUSED)
def test_scores_are_those_of_the_formula(name: str) -> None:
    """With the hidden vectors of the two models alone, position by position, in NumPy."""
    model = build(VARIATIONS[name])
    assert isinstance(model, DeepFusion)
    weights = {n: p.detach().numpy() for n, p in model.fusion.named_parameters()}
    own = hidden_of(model.translation, SOURCE)
    other = hidden_of(model.language_model, SOURCE[:, :1])
    fused = np.empty_like(own)
    for row, position in np.ndindex(TARGET.shape):
        s, l_t = own[row, position], other[row, position]
        gate = 1 / (1 + np.exp(-(weights["gate.weight"][0] @ l_t + weights["gate.bias"][0])))
        both = np.concatenate([s, gate * l_t])
        hidden = np.maximum(weights["hidden.weight"] @ both + weights["hidden.bias"], 0)
        fused[row, position] = s + weights["output.weight"] @ hidden + weights["output.bias"]
    expected = model.translation.logits(torch.from_numpy(fused))
    torch.testing.assert_close(teacher_force(model, SOURCE, full(SOURCE), TARGET), expected)


@pytest.mark.parametrize("name", FUSED)
def test_before_training_it_is_the_translation_model(name: str) -> None:
    """Exactly, with a gate of 0.27 (Gulcehre et al. 2015, section 4.2.1)."""
    model = fresh(name)
    found = teacher_force(model, SOURCE, full(SOURCE), TARGET)
    assert torch.equal(found, teacher_force(model.translation, SOURCE, full(SOURCE), TARGET))
    model.train()
    teacher_force(model, SOURCE, full(SOURCE), TARGET)
    model.auxiliary_loss(full(SOURCE), full(TARGET))
    assert model.figures()["fusion_gate"] == pytest.approx(1 / (1 + np.e))


def test_the_mean_gate_is_of_real_positions_of_all_passes_in_training() -> None:
    model = build(VARIATIONS["deep_fusion"])
    assert isinstance(model, DeepFusion)
    gates = []
    for length in (7, 3):
        target = TARGET[:, :length]
        real = torch.arange(length) < torch.tensor([[2], [length], [1]])
        memory = model.language_model.encode(SOURCE[:, :1], full(SOURCE[:, :1]))
        state = model.language_model.start(memory)
        other, _ = model.language_model.decode(target, memory, state)
        gates.append(model.fusion.gate(other).sigmoid().squeeze(-1)[real])
        model.eval()
        teacher_force(model, SOURCE, full(SOURCE), target[:, :1])  # of validation
        model.train()
        teacher_force(model, SOURCE, full(SOURCE), target)
        assert model.auxiliary_loss(full(SOURCE), real) is None
    assert model.figures() == {"fusion_gate": pytest.approx(torch.cat(gates).mean().item())}
    assert model.figures() == {}


class TestWhatLearns:
    """Which weights get gradients, and what an optimizer knows of the others."""

    def learning(self, model: DeepFusion) -> set[str]:
        return {name for name, p in model.named_parameters() if p.requires_grad}

    def test_the_output_alone(self) -> None:
        """Also one that the translation model shares with its embeddings, which stay."""
        model = fresh()
        fusion = {f"fusion.{name}" for name, _ in model.fusion.named_parameters()}
        assert self.learning(model) == {*fusion, "translation.output.weight"}
        embedding = model.translation.get_parameter("target_embedding.weight")
        output = model.translation.get_parameter("output.weight")
        assert torch.equal(embedding, output)
        with torch.no_grad():
            output.add_(1)
        assert not torch.equal(embedding, output)

    def test_an_output_with_normalised_weights(self) -> None:
        config = DeepFusionConfig(
            translation=ConvS2SConfig(encoder_layers=1, decoder_layers=1, d_model=6, d_hidden=5),
            language_model=RecurrentLMConfig(layers=1, d_model=5),
        )
        model = build(config)
        assert isinstance(model, DeepFusion)
        outputs = {f"output.{name}" for name, _ in model.translation.output.named_parameters()}  # type: ignore[union-attr]
        found = {name for name in self.learning(model) if not name.startswith("fusion.")}
        assert found == {f"translation.{name}" for name in outputs}
        assert len(found) > 1

    def test_the_translation_model_too(self) -> None:
        model = fresh("deep_fusion, the translation model learns")
        assert {name.partition(".")[0] for name in self.learning(model)} == {
            "fusion",
            "translation",
        }
        assert all(p.requires_grad for p in model.translation.parameters())

    @pytest.mark.parametrize("train", ["fusion", "translation"])
    def test_models_that_do_not_learn_have_no_dropout(
        self, train: Literal["fusion", "translation"]
    ) -> None:
        config = DeepFusionConfig(
            translation=RecurrentConfig(encoder_layers=2, decoder_layers=1, d_model=6, dropout=0.5),
            language_model=RecurrentLMConfig(layers=2, d_model=5, dropout=0.5),
            train=train,
            dropout=0.5,
        )
        model = build(config)
        assert isinstance(model, DeepFusion)
        model.train()
        dropping: set[nn.Module] = set()
        for part in model.modules():
            if isinstance(part, Dropout):
                part.register_forward_hook(
                    lambda part, *_: dropping.add(part) if part.training else None
                )
        teacher_force(model, SOURCE, full(SOURCE), TARGET)
        own = {part for part in model.translation.modules() if isinstance(part, Dropout)}
        learning = own if train == "translation" else set()
        assert dropping == {model.fusion.dropout, *learning}
        assert not model.eval().fusion.training


@pytest.mark.parametrize("name", FUSED)
def test_those_that_learn_are_counted_apart(name: str) -> None:
    found = cost(VARIATIONS[name], VOCABULARY, VOCABULARY, 5, 5)
    learning = sum(p.numel() for p in fresh(name).parameters() if p.requires_grad)
    assert 0 < found.learned_parameters == learning < found.total_parameters


class TestConfig:
    """What a configuration of it may say."""

    def test_its_width_is_that_of_the_translation_model(self) -> None:
        parts = {"translation": RecurrentConfig(d_model=7), "language_model": RecurrentLMConfig()}
        assert DeepFusionConfig(**parts).d_model == 7
        with pytest.raises(ValueError, match="d_model: 5 is not the 7 of translation; leave it"):
            DeepFusionConfig(**parts, d_model=5)

    def test_positions_end_with_the_shorter_model(self) -> None:
        learned = {"positions": "learned", "max_positions": 9}
        short = TransformerLMConfig(**learned)
        config = DeepFusionConfig(translation=TransformerConfig(), language_model=short)
        assert config.position_limit == 9
        assert fresh("deep_fusion").position_limit is None

    def test_models_of_the_wrong_kind(self) -> None:
        with pytest.raises(ValueError, match=r"translation: a model that reads no source"):
            DeepFusionConfig(
                translation=RecurrentLMConfig(), language_model=RecurrentLMConfig(), d_model=650
            )
        with pytest.raises(ValueError, match=r"language_model: a model that reads a source"):
            DeepFusionConfig(translation=RecurrentConfig(), language_model=RecurrentConfig())
        small = TransformerConfig(d_model=650, heads=2)
        for composed in (
            ClassifierConfig(backbone=small),
            DeepFusionConfig(translation=small, language_model=RecurrentLMConfig()),
        ):
            with pytest.raises(ValueError, match=rf"family {composed.family}; name a translation"):
                DeepFusionConfig(
                    translation=composed, language_model=RecurrentLMConfig(), d_model=650
                )

    def test_a_path_stands_for_a_model_yet_to_be_read(self) -> None:
        config = DeepFusionConfig(translation="runs/a", language_model={"family": "recurrent_lm"})
        assert config.translation == NamedModelConfig(path="runs/a")
        again = DeepFusionConfig.model_validate(config.model_dump(mode="json"))
        assert again == config

    def test_both_frozen_or_the_language_model_alone(self) -> None:
        config = VARIATIONS["deep_fusion"]
        assert config.frozen_components == ("translation", "language_model")
        learning = config.model_copy(update={"train": "translation"})
        assert learning.frozen_components == ("language_model",)
