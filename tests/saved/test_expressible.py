from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.core.sections import Flat
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.mixture import MixtureConfig
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.context import ContextConfig

KNOWN: Known = {
    "source_language": None,
    "model.family": ["transformer"],
    "model.d_model": None,
    "model.activation": ["relu", "gelu"],
    "model.max_positions": None,
    "model.positions": ["learned", "sinusoidal"],
}


class Gate(Config):
    """A section that a family might get one day."""

    slope: float = 1.0
    inner_slope: float = 2.0


class LaterConfig(TransformerConfig):
    """The Transformer with settings that no program knows yet."""

    gating: bool = False
    gate: Flat[Gate] = Gate(inner_slope=5.0)
    schedule: Gate = Field(Gate(slope=3.0))


def later(**settings: Any) -> LaterConfig:
    return LaterConfig(**settings)


def refusal(model: TransformerConfig, **others: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check_expressible(SavedConfig(model=model, **others), KNOWN, "It", "choose another one")
    return str(caught.value)


def accepts(model: TransformerConfig, **others: Any) -> None:
    check_expressible(SavedConfig(model=model, **others), KNOWN, "It", "choose another one")


def test_known_values_and_defaults_are_accepted() -> None:
    accepts(TransformerConfig(d_model=64, activation="gelu"), source_language="en")
    accepts(later(positions="learned", max_positions=7, gating=False))


def test_settings_of_training_are_not_looked_at() -> None:
    accepts(TransformerConfig(dropout=0.3, attention_dropout=0.1, feed_forward_dropout=0.2))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"gating": True}, "It does not support model.gating: true, only false;"),
        ({"inner_slope": 0.5}, "It does not support model.inner_slope: 0.5, only 5.0;"),
        ({"schedule": {"slope": 4}}, "model.schedule.slope: 4.0, only 3.0;"),
        ({"schedule": {}}, "model.schedule.slope: 1.0, only 3.0;"),
        ({"norm": "pre"}, "model.norm: pre, only post;"),
        ({"activation": "swiglu"}, "model.activation: swiglu, only relu or gelu;"),
        ({"language_tags": "decoder"}, "model.language_tags: decoder, only encoder;"),
        ({"window": 3}, "model.window: 3, only null;"),
        ({"mixture": MixtureConfig(experts=5)}, "model.mixture: {experts: 5}, only null;"),
    ],
)
def test_what_is_not_known_is_refused_by_name(settings: dict[str, Any], told: str) -> None:
    said = refusal(later(**settings))
    assert told in said
    assert said.endswith("; choose another one")


def test_settings_beside_the_model_are_refused_too() -> None:
    saved = SavedConfig(model=TransformerConfig(), context=ContextConfig(sentences=2))
    with pytest.raises(ConfigError, match=r"context: \{sentences: 2\}, only null"):
        check_expressible(saved, KNOWN, "It", "choose another one")
    assert "term_annotation: append" in refusal(TransformerConfig(), term_annotation="append")
    assert "target_language: de" in refusal(TransformerConfig(), target_language="de")
    assert "translates: false" in refusal(TransformerConfig(), translates=False)


def test_each_of_several_settings_is_named() -> None:
    said = refusal(later(gating=True, norm="pre", window=5), target_language="de")
    assert said.startswith("4 problems: (1) It does not support target_language: de")
    assert all(f"model.{name}: " in said for name in ("gating", "norm", "window"))


def test_another_family_is_refused_by_its_name_alone() -> None:
    with pytest.raises(ConfigError, match=r"^It does not support model.family: recurrent, only"):
        check_expressible(SavedConfig(model=RecurrentConfig()), KNOWN, "It", "choose another one")
