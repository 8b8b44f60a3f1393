"""Tiny models of JoeyNMT, made by ``models/make_joeynmt.py``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from imported_models import MODELS
from numbered_cases import cases, largest_gap, same_texts, source_ids

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.exchange.interface import ForeignModel
from dragoman.exchange.pickled import read_pickled
from dragoman.saved.model import load_model
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.splitting import SubwordNmt

pytest.importorskip("sacremoses")
pytest.importorskip("subword_nmt")

JOEYNMT = MODELS / "joeynmt"
NAMES = ["subwords", "sentencepiece"]


def numbers(folder: Path, side: str) -> dict[str, int]:
    """Their number of each piece: its line."""
    lines = (folder / f"{side}_vocab.txt").read_text(encoding="utf-8").splitlines()
    return {piece: number for number, piece in enumerate(lines)}


def read(path: Path) -> ForeignModel:
    return importer_from("joeynmt").read(path, (None, None))


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_joeynmt(name: str) -> None:
    folder = JOEYNMT / name
    found = read(folder)
    assert largest_gap(found, folder, numbers(folder, "src"), numbers(folder, "trg")) < 1e-4
    assert (found.config.source_language, found.config.target_language) == ("en", "de")


@pytest.mark.parametrize("name", NAMES)
def test_text_is_split_by_the_pieces_of_its_list(name: str) -> None:
    folder = JOEYNMT / name
    found = read(folder)
    for case in cases(folder):
        assert source_ids(found, case["text"], numbers(folder, "src")) == case["source"]


@pytest.mark.parametrize("name", NAMES)
def test_greedy_translations_are_those_of_joeynmt(name: str, tmp_path: Path) -> None:
    import_model(JOEYNMT / name, tmp_path / "model")
    assert same_texts(tmp_path / "model", JOEYNMT / name) >= 7


def test_pieces_that_its_list_lacks_are_split_further() -> None:
    target = read(JOEYNMT / "subwords").vocabularies.target
    assert isinstance(target, ListedVocabulary)
    assert isinstance(target.content.splitting, SubwordNmt)
    assert target.content.splitting.vocabulary == target.content.pieces[4:]


def test_what_the_files_say_is_kept() -> None:
    first, second = (read(JOEYNMT / name).config for name in NAMES)
    ours, others = first.model.model_dump(), second.model.model_dump()
    assert (ours["embeddings"], others["embeddings"]) == ("shared", "separate")
    assert (ours["norm"], others["norm"]) == ("pre", "post")
    assert (ours["activation"], others["activation"]) == ("swish", "gelu")
    assert (ours["scale_embeddings"], others["scale_embeddings"]) == (True, False)
    assert first.search == {"beam": 1, "length_penalty": 0.0, "minimum_length": 1}


def changed(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], name: str = "subwords"
) -> Path:
    """A copy of a model whose configuration is changed."""
    folder = tmp_path / "model"
    shutil.copytree(JOEYNMT / name, folder)
    values = yaml.safe_load((folder / "config.yaml").read_text())
    change(values)
    (folder / "config.yaml").write_text(yaml.safe_dump(values))
    return folder


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Set a value of the configuration, or remove it with None."""

    def change(values: dict[str, Any]) -> None:
        *sections, last = path.split(".")
        for section in sections:
            values = values.setdefault(section, {})
        values[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (put("model.encoder.type", "recurrent"), ConfigError, "type: 'recurrent' cannot be"),
        (put("model.encoder.type", None), ConfigError, "type: 'recurrent' cannot be"),
        (put("model.decoder.alpha", 1.2), ConfigError, "alpha: 1.2 cannot be imported"),
        (put("model.initializer", "xavier_normal"), ConfigError, "'xavier_normal' weighs resid"),
        (put("model.encoder.activation", "tanh"), ConfigError, "activation: 'tanh' cannot be"),
        (put("model.encoder.num_heads", 3), ConfigError, r"num_heads \(3\) .* differ"),
        (put("model.encoder.num_layers", "two"), DataError, "num_layers: expected int"),
        (put("data.src.level", "char"), ConfigError, "level: 'char' cannot be imported"),
        (put("data.src.tokenizer_type", "fastbpe"), ConfigError, "tokenizer_type: 'fastbpe'"),
        (put("data.src", "en"), DataError, "data.src: a section is expected, as JoeyNMT 2"),
        (put("data.special_symbols.sep_token", "<sep>"), ConfigError, "models with prompts"),
        (put("model", None), DataError, "model: a section is expected"),
    ],
)
def test_what_is_not_known_is_refused(
    change: Callable[[dict[str, Any]], None], error: type[Exception], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=f"config.yaml: .*{reason}"):
        read(changed(tmp_path, change))


def test_another_order_of_normalisation_is_refused(tmp_path: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        for side in ("encoder", "decoder"):
            values["model"][side]["layer_norm"] = "post"

    with pytest.raises(DataError, match="layer_norm: post is not what it has"):
        read(changed(tmp_path, change))


def test_an_order_of_normalisation_that_nothing_says_is_refused(tmp_path: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        for side in ("encoder", "decoder"):
            del values["model"][side]["layer_norm"]

    with pytest.raises(ConfigError, match=r"encoder\.layer_norm is missing, .* write pre or post"):
        read(changed(tmp_path / "post", change, "sentencepiece"))
    found = read(changed(tmp_path / "pre", change))  # whose output is normalised
    assert found.config.model.model_dump()["norm"] == "pre"


def test_the_length_penalty_may_have_its_older_name(tmp_path: Path) -> None:
    found = read(changed(tmp_path, put("testing.alpha", 1)))
    assert found.config.search["length_penalty"] == 1.0
    assert any("length penalty of 1," in note for note in found.notes)


def test_outputs_are_as_long_as_there(tmp_path: Path) -> None:
    found = read(changed(tmp_path, put("testing.min_output_length", 3)))
    assert found.config.search["minimum_length"] == 3


def test_what_is_done_to_text_before_is_told(tmp_path: Path) -> None:
    found = read(changed(tmp_path, put("data.src.normalize", True)))
    assert any("NFKC" in note for note in found.notes)


@pytest.mark.parametrize("target", ["ctranslate2", "onnx"])
def test_an_export_says_that_text_is_to_be_in_lower_case(target: str, tmp_path: Path) -> None:
    """What is written splits text as it is, and Argos Translate would, too."""
    pytest.importorskip({"onnx": "onnxruntime"}.get(target, target))
    import_model(
        changed(tmp_path, put("data.src.lowercase", True), "sentencepiece"), tmp_path / "m"
    )
    source = load_model(tmp_path / "m", "cpu").vocabularies.source
    assert source.encode("Ein Boot") == source.encode("ein boot")
    report = export_model(tmp_path / "m", target, tmp_path / "there")
    assert any("put in lower case" in one for one in report.differences)
    assert not (tmp_path / "there" / "metadata.json").exists()


def test_words_between_spaces(tmp_path: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        values["data"]["src"].update(level="word", lowercase=False)

    source = read(changed(tmp_path, change)).vocabularies.source
    pieces = [piece for piece in source.pieces(range(4, 12)) if not piece.endswith("@@")]
    assert source.pieces(source.encode(" ".join(pieces))) == pieces


def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(JOEYNMT / "subwords", folder)
    assert importer_of(folder).name == "joeynmt"
    content = (folder / "trg_vocab.txt").read_text()
    (folder / "trg_vocab.txt").write_text(content + "another\n")
    with pytest.raises(DataError, match="its files do not belong together"):
        read(folder)
    (folder / "trg_vocab.txt").write_text(content)
    (folder / "bpe.codes").unlink()
    with pytest.raises(DataError, match=r"no merges .* put bpe\.codes beside config\.yaml"):
        read(folder)
    (folder / "trg_vocab.txt").unlink()
    (folder / "src_vocab.txt").unlink()
    with pytest.raises(DataError, match=r"put src_vocab\.txt or vocab\.txt beside"):
        read(folder)
    (folder / "best.ckpt").unlink()
    with pytest.raises(DataError, match="no checkpoint of JoeyNMT here"):
        read(folder)


def test_the_newest_checkpoint_is_read_if_none_is_the_best(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(JOEYNMT / "subwords", folder)
    (folder / "best.ckpt").rename(folder / "1000.ckpt")
    (folder / "200.ckpt").write_bytes(b"older")
    assert read(folder).origin == "JoeyNMT 2.3.0, 1000.ckpt"
    state = read_pickled(folder / "1000.ckpt")
    torch.save({"weights": state["model_state"]}, folder / "1000.ckpt")
    with pytest.raises(DataError, match="which has 'model_state'"):
        read(folder)
