from __future__ import annotations

from pathlib import Path

import pytest
import torch
from families import VARIATIONS

from dragoman.errors import ConfigError, SavedError
from dragoman.models import ModelConfig, TransformerConfig
from dragoman.saved import (
    SavedConfig,
    average_weights,
    build_model,
    load_model,
    load_weights,
    read_tensors,
    save_model,
    weights_of,
    write_tensors,
)
from dragoman.text.vocabulary import Vocabularies, VocabularyConfig, train_vocabularies

SMALL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
PAIRS = [("one two three", "eins zwei drei"), ("four five", "vier fünf")]


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return train_vocabularies(PAIRS, VocabularyConfig(size=30), seed=1)


def save(path: Path, vocabularies: Vocabularies, seed: int = 0) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    weights = dict(build_model(SMALL, vocabularies).named_parameters())
    config = SavedConfig(source_language="en", target_language="de", model=SMALL)
    save_model(path, config, vocabularies, weights, {"test, bleu": 12.3})
    return {name: tensor.detach() for name, tensor in weights.items()}


def test_round_trip(tmp_path: Path, vocabularies: Vocabularies) -> None:
    weights = save(tmp_path / "model", vocabularies)
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "config.yaml",
        "vocabulary.model",
        "model.safetensors",
        "README.md",
    }
    saved = load_model(tmp_path / "model", "cpu")
    assert saved.config.source_language == "en"
    assert saved.vocabularies.source.fingerprint == vocabularies.source.fingerprint
    assert not saved.model.training
    for name, parameter in saved.model.named_parameters():
        assert torch.equal(parameter, weights[name])
    assert "| test, bleu | 12.3 |" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_every_family_comes_back_as_it_was(
    config: ModelConfig, tmp_path: Path, vocabularies: Vocabularies
) -> None:
    torch.manual_seed(3)
    weights = {
        name: torch.randn_like(tensor)
        for name, tensor in weights_of(build_model(config, vocabularies)).items()
    }
    save_model(tmp_path / "model", SavedConfig(model=config), vocabularies, weights)
    saved = load_model(tmp_path / "model", "cpu")
    assert saved.config.model == config
    found = weights_of(saved.model)
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], weights[name]) for name in weights)


def test_saving_again_replaces_the_whole(tmp_path: Path, vocabularies: Vocabularies) -> None:
    save(tmp_path / "model", vocabularies)
    second = save(tmp_path / "model", vocabularies, seed=1)
    found = read_tensors(tmp_path / "model" / "model.safetensors")
    assert all(torch.equal(found[name], second[name]) for name in second)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_any_altered_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(4.0), "b": torch.ones(2, 3, dtype=torch.bfloat16)})
    content = path.read_bytes()
    for position in range(len(content)):
        harmed = bytearray(content)
        harmed[position] ^= 0x40
        path.write_bytes(harmed)
        with pytest.raises(SavedError, match=r"x\.safetensors: "):
            read_tensors(path)


def test_every_truncation_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(4.0)})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(SavedError, match="truncated or damaged"):
            read_tensors(path)


def test_weights_of_another_config_are_refused(vocabularies: Vocabularies) -> None:
    model = build_model(SMALL, vocabularies)
    weights = dict(build_model(SMALL, vocabularies).named_parameters())
    wider = build_model(SMALL.model_copy(update={"d_ff": 9}), vocabularies)
    with pytest.raises(SavedError, match=r"here: .*should be \[8, 8\], found \[9, 8\]"):
        load_weights(model, dict(wider.named_parameters()), Path("here"))
    deeper = build_model(SMALL.model_copy(update={"encoder_layers": 2}), vocabularies)
    with pytest.raises(SavedError, match=r"encoder\.1\.\S+ does not belong"):
        load_weights(model, dict(deeper.named_parameters()), Path("here"))
    with pytest.raises(SavedError, match=r"source_embedding.weight is missing"):
        load_weights(model, {n: t for n, t in weights.items() if "embedding" not in n}, Path("."))


def test_average_is_the_mean(tmp_path: Path) -> None:
    for number in range(3):
        write_tensors(tmp_path / f"{number}", {"a": torch.full((2,), float(number))})
    found = average_weights(tmp_path / name for name in "012")
    torch.testing.assert_close(found["a"], torch.ones(2))
    write_tensors(tmp_path / "other", {"a": torch.zeros(3)})
    with pytest.raises(SavedError, match=r"other: cannot be averaged"):
        average_weights([tmp_path / "0", tmp_path / "other"])


def test_shared_embeddings_need_a_joint_vocabulary() -> None:
    separate = train_vocabularies(PAIRS, VocabularyConfig(size=22, joint=False), seed=1)
    with pytest.raises(ConfigError, match=r"embeddings: shared needs a joint vocabulary"):
        build_model(SMALL, separate)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such model or run"),
        (lambda path: path.mkdir(), "neither a model"),
        (lambda path: (path / "checkpoints").mkdir(parents=True), "no finished model.*resume"),
    ],
)
def test_what_is_no_model_says_so(tmp_path: Path, make: object, message: str) -> None:
    make(tmp_path / "run")  # type: ignore[operator]
    with pytest.raises(SavedError, match=message):
        load_model(tmp_path / "run")
