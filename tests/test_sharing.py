"""What does not go with how processes share the work is said before any work."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig

PAIRS = {"source": "a.en", "target": "a.de"}


def configured(
    training: dict[str, Any],
    model: dict[str, Any] | None = None,
    part: dict[str, Any] = PAIRS,
) -> ExperimentConfig:
    values = {
        "source_language": "en",
        "target_language": "de",
        "data": {"train": [part], "dev": PAIRS},
        "training": training,
        "model": model or {"family": "transformer"},
    }
    return parse(ExperimentConfig, values, "my.yaml")


@pytest.mark.parametrize(
    ("training", "message"),
    [
        (
            {"sharding": "state", "send_gradients": "during"},
            "send_gradients: during is for sharding: none, and state sends them",
        ),
        (
            {"sharding": "parameters", "adapter": {"rank": 2}, "start_from": "runs/other"},
            "adapter needs all weights in every process; set sharding: gradients",
        ),
        (
            {"sharding": "parameters", "embeddings": {"source": "a.vec", "fixed": True}},
            "embeddings.fixed needs all weights in every process; set sharding: gradients, or fi",
        ),
        (
            {"sharding": "parameters", "objective": {"kind": "expected_risk"}},
            "objective expected_risk translates with the model in training",
        ),
    ],
)
def test_settings_that_do_not_go_together(training: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(training)


def test_only_layers_can_be_computed_again() -> None:
    assert configured({"recompute": "layers"}).training.recompute == "layers"
    with pytest.raises(ConfigError, match="recompute: layers is for Transformers, and model"):
        configured({"recompute": "layers"}, {"family": "recurrent"})


def test_embeddings_that_learn_may_be_given_to_shared_weights() -> None:
    for sharding, fixed in (("parameters", False), ("gradients", True)):
        embeddings = {"source": "a.vec", "fixed": fixed}
        separate = {"family": "transformer", "embeddings": "separate"}
        assert configured({"sharding": sharding, "embeddings": embeddings}, separate)


def test_a_composed_model_is_not_taken_apart() -> None:
    backbone = {"family": "classifier", "backbone": {"family": "transformer"}}
    with pytest.raises(ConfigError, match="parameters does not go with a composed model"):
        configured({"sharding": "parameters"}, backbone)


@pytest.mark.parametrize("sharding", ["gradients", "parameters"])
def test_a_batch_learned_from_in_two_passes_needs_whole_gradients(sharding: str) -> None:
    cut_off = {"target": "a.de", "transforms": [{"kind": "dummy_source", "cut_off": True}]}
    with pytest.raises(ConfigError, match=f"training.sharding: {sharding} needs a single one"):
        configured({"sharding": sharding}, part=cut_off)
    configured({"sharding": "state"}, part=cut_off)
