"""Exports to transformers, which reads them here; a module of its own, as it takes seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import safetensors
import torch
from tiny_model import LINES, save_tiny_model

from dragoman.core.errors import ConfigError, ExportError, StorageError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.huggingface_files import LAYER_NAMES
from dragoman.exchange.importing import import_model
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_model, save_model
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.weights import weights_of
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabularies
from dragoman.text.vocabularies.foreign_vocabulary import Special, dictionary_over_words
from dragoman.text.vocabularies.splitting import SubwordNmt
from dragoman.translation.translator import Translator

pytest.importorskip("transformers", minversion="5")

SIZES = {"encoder_layers": 2, "decoder_layers": 1, "d_model": 8, "d_ff": 9, "heads": 2}
NAMES = Special(None, "<unk>", None, "</s>")
VARIATIONS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "with all that it may have": {
        "embeddings": "separate",
        "attention_bias": True,
        "activation": "swish",
        "output_bias": True,
        "scale_embeddings": False,
    },
    "one matrix for both sides, another for outputs": {"embeddings": "inputs"},
}


def exporter_module() -> Any:
    """Imported by the tests and not when they are collected, which every process does."""
    return import_module("dragoman.exchange.huggingface_marian_exporter")


def write(folder: Path, **settings: Any) -> Path:
    """A tiny model whose weights are all unlike, biases and gains too."""
    path = save_tiny_model(folder / "model", tags=("<a>",), config=config_of(**settings), beam=3)
    saved = load_model(path, "cpu")
    torch.manual_seed(4)
    weights = {name: one + 0.3 * torch.randn_like(one) for name, one in kept(saved).items()}
    save_model(path, saved.config, saved.vocabularies, weights)
    return path


def config_of(**settings: Any) -> TransformerConfig:
    return TransformerConfig(**{**SIZES, **settings})


def kept(saved: SavedModel) -> dict[str, torch.Tensor]:
    return {name: one.detach() for name, one in weights_of(saved.model).items()}


def scores(saved: SavedModel, source: str, target: str) -> torch.Tensor:
    sides = saved.vocabularies
    ids = torch.tensor([[*sides.source.encode(source), EOS]])
    inputs = torch.tensor([[BOS, *sides.target.encode(target)]])
    memory = saved.model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
    hidden, _ = saved.model.decode(inputs, memory, saved.model.start(memory))
    return saved.model.logits(hidden).log_softmax(-1)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> SavedModel:
    path = tmp_path_factory.mktemp("usual") / "model"
    return load_model(save_tiny_model(path, config=config_of()), "cpu")


@pytest.mark.parametrize("name", VARIATIONS)
def test_there_and_back_again(name: str, tmp_path: Path) -> None:
    """Greedy texts of transformers are ours, and so are the scores of what is imported again."""
    path = write(tmp_path, **VARIATIONS[name])
    report = export_model(path, "huggingface", tmp_path / "there")
    assert report.difference is not None
    assert report.difference < 1e-4
    assert "splits 20 of their 20 texts alike" in report.compared
    transformers = import_module("transformers")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "there").eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "there")
    lines = LINES[:3]
    translator = Translator.load(path, device="cpu")
    ours = translator.translate(lines, beam=1, extra_length=40, maximum_length=9, degenerate="keep")
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    found = model.generate(**batch, num_beams=1, do_sample=False, max_length=11)
    theirs = tokenizer.batch_decode(found, skip_special_tokens=True)
    assert theirs == [text.strip() for text in ours]
    said = json.loads((tmp_path / "there" / "generation_config.json").read_text())
    (tag,) = translator.vocabularies.target.tags
    assert said["bad_words_ids"] == [[PAD], [BOS], [UNK], [tag]]
    assert (said["decoder_start_token_id"], said["eos_token_id"]) == (BOS, EOS)
    import_model(tmp_path / "there", tmp_path / "back")
    first, second = load_model(path, "cpu"), load_model(tmp_path / "back", "cpu")
    assert second.search["beam"] == 3
    for line in lines:
        again = scores(second, line, "e d c")
        torch.testing.assert_close(again, scores(first, line, "e d c"), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "pre"}, r"model.norm: pre, only post"),
        ({"norm_epsilon": 1e-6}, r"model.norm_epsilon: 1e-06, only 1e-05"),
        ({"positions": "learned"}, r"model.positions: learned, only sinusoidal"),
        ({"timescales": "tensor2tensor"}, r"model.timescales: tensor2tensor, only paper"),
        ({"normalize_embeddings": True}, r"model.normalize_embeddings: true, only false"),
        ({"final_norm": True}, r"model.final_norm: true, only null"),
        ({"activation": "swiglu"}, r"model.activation: swiglu, only"),
        ({"source_end": False}, r"model.source_end: false, only true"),
        ({"d_k": 3}, r"needs d_k and d_v of d_model / heads = 4, not \(3, 4\)"),
        ({"d_model": 9, "heads": 3}, r"another order of positions with an odd d_model 9"),
    ],
)
def test_what_it_cannot_express(settings: dict[str, Any], message: str, usual: SavedModel) -> None:
    config = usual.config.model_copy(update={"model": config_of(**settings)})
    with pytest.raises(ConfigError, match=message):
        exporter_module().HuggingfaceMarianExporter().check(replace(usual, config=config))


def test_words_are_not_split_there(usual: SavedModel) -> None:
    """Not by what splits them in models of fairseq and others."""
    words = dictionary_over_words(SubwordNmt(), {"a": 0, "<unk>": 1, "</s>": 2}, NAMES, "dict.txt")
    vocabularies = Vocabularies(words.vocabulary, words.vocabulary)
    with pytest.raises(ConfigError, match="with sentencepiece, which this vocabulary"):
        exporter_module().HuggingfaceMarianExporter().check(
            replace(usual, vocabularies=vocabularies)
        )


def test_an_export_that_gives_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path)
    projections = {**LAYER_NAMES.projections, "query": "k_proj", "key": "q_proj"}
    swapped = replace(LAYER_NAMES, projections=projections)
    monkeypatch.setattr(
        import_module("dragoman.exchange.huggingface_writing"), "LAYER_NAMES", swapped
    )
    with pytest.raises(ExportError, match="differ by up to"):
        export_model(path, "huggingface", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_disk_that_refuses_the_weights_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    path = write(tmp_path)
    monkeypatch.setattr(exporter_module().MarianMTModel, "save_pretrained", full)
    with pytest.raises(StorageError, match=r"cannot write .*there.*full"):
        export_model(path, "huggingface", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_tags_of_languages_are_codes_there(tmp_path: Path) -> None:
    directions = (Direction(source_language="en", target_language="de", tags=("<2de>",)),)
    path = save_tiny_model(
        tmp_path / "m", config=config_of(), tags=("<2de>",), directions=directions
    )
    export_model(path, "huggingface", tmp_path / "out")
    tokenizer = exporter_module().MarianTokenizer.from_pretrained(tmp_path / "out")
    expected = load_model(path, "cpu").vocabularies.source.encode("<2de> a fox")
    assert tokenizer(">>de<< a fox").input_ids == [*expected, EOS]
    assert "| en to de | `>>de<<` |" in (tmp_path / "out" / "README.md").read_text("utf-8")
