from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import pytest
import sentencepiece
from command_line import call, one_error
from tiny_model import TINY_LM, save_tiny_adapter, save_tiny_model

from dragoman.core.errors import ConfigError, ExportError, MissingExtraError, StorageError
from dragoman.exchange.exporting import NOTE_FILE, export_model, exporter_to
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_for_search, load_model, save_model
from dragoman.saved.weights import weights_of
from dragoman.text.examples import Direction
from dragoman.text.normalization import normalize
from dragoman.translation.engines import ctranslate2_conversion


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("read") / "model")


def changed(model: Path, path: Path, **values: Any) -> Path:
    """A model that differs from another one in its ``config.yaml``."""
    saved = load_model(model, "cpu")
    config = saved.config.model_copy(update=values)
    save_model(path, config, saved.vocabularies, weights_of(saved.model))
    return path


def test_an_export_says_what_was_compared(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    outcome = call("export", model, "--to", "ctranslate2", "--output", output, "--json")
    assert outcome.code == 0
    told = json.loads(outcome.out)
    assert (told["to"], told["equal_texts"]) == ("ctranslate2", None)
    assert told["difference"] < 1e-4
    assert sorted(told["files"]) == sorted(path.name for path in output.iterdir())
    card = (output / "README.md").read_text("utf-8")
    assert "log-probabilities of 20 sentences" in card
    assert all(text in card for text in told["differences"])
    note = json.loads((output / NOTE_FILE).read_text("utf-8"))
    assert note["files"] == told["files"]


@pytest.mark.parametrize("target", ["ctranslate2", "huggingface", "onnx"])
def test_the_card_says_how_text_is_normalised_before_it_is_split(
    target: str, model: Path, tmp_path: Path
) -> None:
    """What it advises is what makes sentencepiece alone split text as the model was trained."""
    report = export_model(model, target, tmp_path / "out")
    assert any("replace no-break spaces and the like" in one for one in report.differences)
    vocabulary = load_model(model, "cpu").vocabularies.source
    path = next(path for path in (tmp_path / "out").rglob("*") if path.suffix in {".spm", ".model"})
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for text in ("a\u00a0b", "a\u2009b\tc", "a\u00adb", "a\u200bb\ufeff", "a\x07b"):
        ours = vocabulary.pieces(vocabulary.encode(text))
        assert theirs.encode(normalize(text), out_type=str) == ours
        assert theirs.encode(text, out_type=str) != ours or "\t" in text


def test_an_earlier_export_is_replaced_and_nothing_else(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    for _ in range(2):
        export_model(model, "ctranslate2", output)
    (output / "letter.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"holds letter\.txt, which Dragoman did not put there"):
        export_model(model, "ctranslate2", output)
    with pytest.raises(StorageError, match="which Dragoman did not put there"):
        export_model(model, "ctranslate2", model)  # no export, though a README.md is in it
    (output / "letter.txt").rename(output / "model" / "letter.txt")
    with pytest.raises(StorageError, match=r"out: holds model/letter\.txt, which Dragoman did not"):
        export_model(model, "ctranslate2", output)
    (output / "model" / "letter.txt").unlink()
    (output / NOTE_FILE).write_text('{"files": 3}')
    with pytest.raises(StorageError, match=f"{NOTE_FILE}: damaged"):
        export_model(model, "ctranslate2", output)
    assert (output / "model" / "model.bin").is_file()


def test_an_export_that_does_not_agree_is_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right: Callable[..., Any] = ctranslate2_conversion.specification

    def wrong(*arguments: Any) -> Any:
        spec = right(*arguments)
        spec.encoder.scale_embeddings = False
        return spec

    monkeypatch.setattr("dragoman.exchange.ctranslate2_exporter.specification", wrong)
    with pytest.raises(ExportError, match=r"differ by up to .* from the model's"):
        export_model(model, "ctranslate2", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("quantisation", [None, "int8"])
def test_an_export_that_gives_no_numbers_is_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantisation: str | None
) -> None:
    """Of the longer sentences alone: the first of them is as it should be."""

    class Broken(ctranslate2.Translator):  # type: ignore[misc]
        def score_batch(self, *arguments: Any) -> list[Any]:
            found = [list(one.log_probs) for one in super().score_batch(*arguments)]
            wrong = [found[0], *([float("nan")] * len(one) for one in found[1:])]
            return [SimpleNamespace(log_probs=one) for one in wrong]

    kinds = [Broken] if quantisation is None else [ctranslate2.Translator, Broken]

    def opened(path: str, **options: Any) -> Any:
        return kinds.pop(0)(path, **options)

    fake = SimpleNamespace(Translator=opened, __version__=ctranslate2.__version__)
    monkeypatch.setattr("dragoman.exchange.ctranslate2_exporter.ctranslate2", fake)
    with pytest.raises(ExportError, match="differ by up to nan"):
        export_model(model, "ctranslate2", tmp_path / "out", quantisation=quantisation)


def test_an_adapter_is_merged_in(model: Path, tmp_path: Path) -> None:
    adapter = save_tiny_adapter(tmp_path / "a.safetensors", model)
    export_model(model, "ctranslate2", tmp_path / "plain")
    report = export_model(model, "ctranslate2", tmp_path / "adapted", adapter=adapter)
    assert report.difference is not None and report.difference < 1e-4
    plain, adapted = (
        (tmp_path / name / "model" / "model.bin").read_bytes() for name in ("plain", "adapted")
    )
    assert plain != adapted
    assert "with an adapter merged in" in (tmp_path / "adapted" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"term_annotation": "append"}, "does not support term_annotation: append"),
        ({"translates": False}, "an encoder alone"),
        ({"search": {"grammar": "trees"}}, "search.grammar: trees"),
    ],
)
@pytest.mark.parametrize("target", ["ctranslate2", "onnx", "marian"])
def test_models_that_others_cannot_run_are_refused(
    values: dict[str, Any], told: str, target: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        export_model(changed(model, tmp_path / "other", **values), target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["ctranslate2", "onnx", "marian"])
def test_a_setting_that_is_added_later_is_refused(
    target: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LaterConfig(TransformerConfig):
        gating: bool = False

    opened = load_for_search(model, "cpu")
    later = LaterConfig(gating=True, **opened.config.model.model_dump())
    opened.config = opened.config.model_copy(update={"model": later})
    monkeypatch.setattr("dragoman.exchange.exporting.load_for_search", lambda *_, **__: opened)
    with pytest.raises(ConfigError, match=r"does not support model\.gating: true, only false"):
        export_model(model, target, tmp_path / "out")


def test_a_language_model_is_refused(tmp_path: Path) -> None:
    path = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    outcome = call("export", path, "--to", "onnx", "--output", tmp_path / "out")
    assert "a language model" in one_error(outcome, 2)


def test_quantisation_is_of_ctranslate2(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"leave out --quantisation, or export to: ctranslate2"):
        export_model(model, "onnx", tmp_path / "out", quantisation="int8")
    with pytest.raises(ConfigError, match="no weights in int7; choose one of: int8,"):
        export_model(model, "ctranslate2", tmp_path / "out", quantisation="int7")


def test_the_card_names_the_tags_of_each_direction(tmp_path: Path) -> None:
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=(f"<2{one}>",))
        for one in ("de", "fr")
    )
    path = save_tiny_model(tmp_path / "m", tags=("<2de>", "<2fr>"), directions=directions)
    export_model(path, "ctranslate2", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert card.startswith("# en to de, en to fr, for ctranslate2\n")
    assert "put these pieces in front of its own:\n\n|  |  |\n" in card
    assert "| en to de | `<2de>` |\n| en to fr | `<2fr>` |" in card
    assert not (tmp_path / "out" / "metadata.json").exists()
    splitter = sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / "out" / "sentencepiece.model")
    )
    vocabulary = load_model(path, "cpu").vocabularies.source
    pieces = ["<2de>", *splitter.encode("a fox", out_type=str)]
    assert vocabulary.ids(pieces) == vocabulary.encode("<2de> a fox")


@pytest.mark.parametrize(
    ("target", "package"),
    [("onnx", "onnx"), ("onnx", "onnxruntime"), ("ctranslate2", "ctranslate2")],
)
def test_a_missing_package_hurts_its_target_alone(
    target: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"dragoman.exchange.{target}_exporter", raising=False)
    with pytest.raises(MissingExtraError, match=f"add it with: .* {package}"):
        exporter_to(target)
    assert exporter_to("marian").name == "marian"
