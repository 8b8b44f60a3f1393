from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from families import VARIATIONS, teacher_force, variations
from tiny_model import save_tiny_model
from torch import Tensor
from torch.nn.utils.parametrize import is_parametrized

from dragoman.core.config import read_yaml, to_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.models import ModelConfig, TransformerConfig
from dragoman.models.families.transformer import Transformer
from dragoman.saved.model import build_model, load_for_search, load_model, save_model
from dragoman.saved.saved_config import FORMAT, SavedConfig
from dragoman.saved.weights import (
    average_weights,
    load_weights,
    read_tensors,
    read_weights,
    weights_of,
    write_tensors,
)
from dragoman.text.context import ContextConfig
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

SMALL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
RUN_CONFIG: Mapping[str, object] = {"data": {}, "training": {}}
PAIRS = [("one two three", "eins zwei drei"), ("four five", "vier fünf")]


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return train_vocabularies(PAIRS, VocabularyConfig(size=30), seed=1)


def save(path: Path, vocabularies: Vocabularies, seed: int = 0) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    weights: dict[str, Tensor] = dict(build_model(SMALL, vocabularies).named_parameters())
    config = SavedConfig(source_language="en", target_language="de", model=SMALL)
    save_model(path, config, vocabularies, weights)
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
    assert (tmp_path / "model" / "README.md").read_text().startswith("# en to de\n")


@pytest.mark.parametrize("config", variations())
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


def rewrite(path: Path, **values: object) -> None:
    """Change ``config.yaml``; None takes a key out."""
    config = read_yaml(path / "config.yaml") | values
    kept = {name: value for name, value in config.items() if value is not None}
    (path / "config.yaml").write_text(to_yaml(kept), encoding="utf-8")


def test_a_model_without_format_is_of_the_first(tmp_path: Path, vocabularies: Vocabularies) -> None:
    path = tmp_path / "model"
    weights = save(path, vocabularies)
    assert read_yaml(path / "config.yaml")["format"] == 1 < FORMAT
    rewrite(path, format=None)
    found = dict(load_model(path, "cpu").model.named_parameters())
    assert all(torch.equal(found[name], weights[name]) for name in weights)


def test_tags_that_stand_alone_are_of_a_format_that_says_so(tmp_path: Path) -> None:
    """An older Dragoman would read a space before each."""
    alone = load_model(save_tiny_model(tmp_path / "model", tags=("<2de>",)), "cpu")
    assert read_yaml(tmp_path / "model" / "config.yaml")["format"] == 3
    (vocabulary, _), weights = alone.vocabularies, weights_of(alone.model)
    assert isinstance(vocabulary, SentencePieceVocabulary)
    old = SentencePieceVocabulary(vocabulary.serialized.removesuffix(TAGS_ALONE))
    save_model(tmp_path / "old", alone.config, Vocabularies(old, old), weights)
    assert read_yaml(tmp_path / "old" / "config.yaml")["format"] == 1
    again = load_model(tmp_path / "old", "cpu").vocabularies.source
    assert again.encode("<2de>") == old.encode("<2de>") != vocabulary.encode("<2de>")


def test_context_is_of_a_format_that_says_so(tmp_path: Path, vocabularies: Vocabularies) -> None:
    """An older Dragoman would translate without it."""
    config = SavedConfig(model=SMALL, context=ContextConfig(sentences=2))
    weights = weights_of(build_model(SMALL, vocabularies))
    save_model(tmp_path / "model", config, vocabularies, weights)
    assert read_yaml(tmp_path / "model" / "config.yaml")["format"] == 2


def test_a_model_of_a_newer_format_is_refused(tmp_path: Path, vocabularies: Vocabularies) -> None:
    path = tmp_path / "model"
    save(path, vocabularies)
    # What else a newer format says may be unknown here; the format comes first.
    rewrite(path, format=FORMAT + 1, model={"family": "telepathy"})
    with pytest.raises(SavedError, match=r"config\.yaml: a model of format 4.* up to 3; .*newer"):
        load_model(path, "cpu")


@pytest.mark.parametrize("odd", ["new", 0, 1.5, True])
def test_a_format_is_a_number(odd: object, tmp_path: Path, vocabularies: Vocabularies) -> None:
    save(tmp_path / "model", vocabularies)
    rewrite(tmp_path / "model", format=odd)
    with pytest.raises(SavedError, match=r"format: expected a whole number .*found "):
        load_model(tmp_path / "model", "cpu")


@pytest.mark.parametrize("name", ["transformer", "recurrent", "convs2s", "bytenet"])
def test_a_model_to_search_with_is_the_same_function(
    name: str, tmp_path: Path, vocabularies: Vocabularies
) -> None:
    weights: dict[str, Tensor] = dict(
        build_model(VARIATIONS[name], vocabularies).named_parameters()
    )
    save_model(tmp_path / "model", SavedConfig(model=VARIATIONS[name]), vocabularies, weights)
    trainable = load_model(tmp_path / "model", "cpu").model
    searching = load_for_search(tmp_path / "model", "cpu").model
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    one, other = (
        teacher_force(model, source, source > 0, target) for model in (trainable, searching)
    )
    assert torch.equal(one, other)
    made = [any(map(is_parametrized, model.modules())) for model in (trainable, searching)]
    assert made == [name == "convs2s", False]
    assert not searching.training
    low = load_for_search(tmp_path / "model", "cpu", "bfloat16").model
    assert {parameter.dtype for parameter in low.parameters()} == {torch.bfloat16}


def test_saving_again_replaces_the_whole(tmp_path: Path, vocabularies: Vocabularies) -> None:
    save(tmp_path / "model", vocabularies)
    second = save(tmp_path / "model", vocabularies, seed=1)
    found = read_tensors(tmp_path / "model" / "model.safetensors")
    assert all(torch.equal(found[name], second[name]) for name in second)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_weights_of_another_config_are_refused(vocabularies: Vocabularies) -> None:
    model = build_model(SMALL, vocabularies)
    weights: dict[str, Tensor] = dict(build_model(SMALL, vocabularies).named_parameters())
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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_that_are_not_finite_are_refused(
    value: float, dtype: torch.dtype, tmp_path: Path, vocabularies: Vocabularies
) -> None:
    weights = {
        name: tensor.to(dtype) for name, tensor in save(tmp_path / "a", vocabularies).items()
    }
    name = "encoder.0.feed_forward.inner.weight"
    weights[name][3, 2] = value
    save_model(tmp_path / "b", SavedConfig(model=SMALL), vocabularies, weights)
    message = rf"b/model\.safetensors: the tensor {name} has NaN or infinite .*another checkpoint"
    for load in (load_model, load_for_search):
        with pytest.raises(SavedError, match=message):
            load(tmp_path / "b", "cpu")
    with pytest.raises(SavedError, match=message):
        average_weights(tmp_path / part / "model.safetensors" for part in "ab")


def test_weights_of_any_kind_are_read(tmp_path: Path) -> None:
    """The largest numbers are finite, and empty tensors have no NaN."""
    largest = torch.tensor([torch.finfo(torch.float32).max, torch.finfo(torch.float32).min])
    tensors = {"a": largest, "b": torch.ones(2, dtype=torch.bfloat16), "c": torch.zeros(0, 3)}
    write_tensors(tmp_path / "x.safetensors", tensors)
    found = read_weights(tmp_path / "x.safetensors")
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_shared_embeddings_need_a_joint_vocabulary() -> None:
    separate = train_vocabularies(PAIRS, VocabularyConfig(size=22, joint=False), seed=1)
    with pytest.raises(ConfigError, match=r"embeddings: shared needs a joint vocabulary"):
        build_model(SMALL, separate)


def test_global_tags_are_found_in_the_vocabulary(tmp_path: Path) -> None:
    """When training begins and when the model is opened; a tag that is not there is an error."""
    tags = VocabularyConfig(size=32, tags=("<doc>", "<sep>"))
    vocabularies = train_vocabularies(PAIRS, tags, seed=1)
    section = {**SMALL.model_dump(), "window": 3, "global_tags": ("<sep>",)}
    config = TransformerConfig(**section)
    model = build_model(config, vocabularies)
    save_model(tmp_path / "model", SavedConfig(model=config), vocabularies, weights_of(model))
    for each in (model, load_model(tmp_path / "model", "cpu").model):
        assert isinstance(each, Transformer)
        assert each.global_tokens is not None
        assert each.global_tokens.ids.tolist() == [vocabularies.source.tag("<sep>")] == [5]
    absent = TransformerConfig(**{**section, "global_tags": ("<par>",)})
    with pytest.raises(ConfigError, match="the vocabulary has no tag '<par>'"):
        build_model(absent, vocabularies)


def part_of_run(
    path: Path, config: Mapping[str, object] = RUN_CONFIG, *, checkpoint: bool = False
) -> None:
    (path / "checkpoints" / "step-000002").mkdir(parents=True)
    (path / "config.yaml").write_text(json.dumps(config))
    if checkpoint:
        (path / "checkpoints" / "step-000002" / "model.safetensors").touch()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such model or run"),
        (lambda path: path.mkdir(), "neither a model"),
        (lambda path: path.write_text("x"), "run: this is a file; name the directory of a model"),
        (lambda path: part_of_run(path, checkpoint=True), "finished model.*resume.*--output"),
        (part_of_run, "neither model nor checkpoint; train it .*resume"),
        (lambda path: (path / "checkpoints").mkdir(parents=True), r"its config.yaml is missing"),
        (lambda path: part_of_run(path, {"model": {}}), r"model.safetensors is missing; copy the"),
    ],
)
def test_what_is_no_model_says_so(tmp_path: Path, make: object, message: str) -> None:
    make(tmp_path / "run")  # type: ignore[operator]
    with pytest.raises(SavedError, match=message):
        load_model(tmp_path / "run")


def test_what_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tensors(tmp_path / "x.safetensors", {"a": torch.arange(4.0)})
    monkeypatch.setattr(os, "access", lambda *_: False)  # what a user who is not root is told
    with pytest.raises(SavedError, match=r"x\.safetensors: permission denied"):
        read_tensors(tmp_path / "x.safetensors")
    with pytest.raises(SavedError, match=f"{tmp_path}: permission denied"):
        load_model(tmp_path)


def test_a_model_that_is_written_again_has_no_shortlist_of_the_other(
    tmp_path: Path, vocabularies: Vocabularies
) -> None:
    """Average, adapt and merge write so, perhaps with other vocabularies."""
    save(tmp_path / "model", vocabularies)
    (tmp_path / "model" / "shortlist.safetensors").write_bytes(b"a list")
    save(tmp_path / "model", vocabularies, seed=1)
    assert not (tmp_path / "model" / "shortlist.safetensors").exists()


def test_a_checkpoint_finds_its_run_from_wherever_it_is_named(
    tmp_path: Path, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "run", vocabularies)
    checkpoint = tmp_path / "run" / "checkpoints" / "step-000500"
    checkpoint.mkdir(parents=True)
    (tmp_path / "run" / "model.safetensors").rename(checkpoint / "model.safetensors")
    (tmp_path / "best").symlink_to(checkpoint)
    for folder, name in (
        (tmp_path, "run/checkpoints/step-000500"),
        (tmp_path / "run", "checkpoints/step-000500"),
        (tmp_path / "run" / "checkpoints", "step-000500"),
        (checkpoint, "."),
        (tmp_path, "best"),
    ):
        monkeypatch.chdir(folder)
        assert load_model(name, "cpu").config.source_language == "en"


def test_checkpoints_may_be_on_another_disk(tmp_path: Path, vocabularies: Vocabularies) -> None:
    """The run is above the name of the folder, not above the place that it leads to."""
    save(tmp_path / "run", vocabularies)
    (tmp_path / "disk" / "step-000500").mkdir(parents=True)
    weights = tmp_path / "run" / "model.safetensors"
    weights.rename(tmp_path / "disk" / "step-000500" / "model.safetensors")
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "disk")
    saved = load_model(tmp_path / "run" / "checkpoints" / "step-000500", "cpu")
    assert saved.config.source_language == "en"


def test_weights_of_another_toolkit_are_said_to_be_imported(tmp_path: Path) -> None:
    """Their file may have the same name."""
    folder = tmp_path / "there" / "opus"
    folder.mkdir(parents=True)
    write_tensors(folder / "model.safetensors", {"model.shared.weight": torch.zeros(1)})
    (folder / "config.json").write_text("{}")
    with pytest.raises(
        SavedError, match=r"opus: its config\.yaml is missing.*dragoman import .*opus"
    ):
        load_model(folder, "cpu")


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool, torch.uint8])
def test_weights_that_are_no_real_numbers_are_refused(
    dtype: torch.dtype, tmp_path: Path, vocabularies: Vocabularies
) -> None:
    save(tmp_path / "model", vocabularies)
    file = tmp_path / "model" / "model.safetensors"
    weights = read_tensors(file)
    name = sorted(weights)[0]
    write_tensors(file, {**weights, name: (weights[name] * 100).to(dtype)})
    for read in (load_model, lambda path: average_weights([path / "model.safetensors"])):
        with pytest.raises(SavedError, match=f"the tensor {name} holds {dtype}, expected real"):
            read(tmp_path / "model")
