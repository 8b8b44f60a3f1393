"""Checkpoints of OpenNMT-py: what the toolkit says of them, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from imported_models import MODELS, expected, greedy, largest_difference
from safetensors.torch import save_file

import dragoman
from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.exchange.pickled import StandIn, read_pickled

NAMES = ["opennmt2", "opennmt3/positions", "opennmt3/relative", "opennmt3/rotary"]
POSITIONS = MODELS / "opennmt3" / "positions"
Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_the_toolkit(name: str) -> None:
    assert largest_difference("opennmt", MODELS / name) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_translated_as_by_the_toolkit(name: str, tmp_path: Path) -> None:
    told = expected(MODELS / name)
    assert greedy("opennmt", MODELS / name, tmp_path / "ours", told["sources"]) == told["greedy"]
    assert len(set(told["greedy"])) == len(told["greedy"])


def changed(tmp_path: Path, change: Change, name: str = "opennmt3/positions") -> Path:
    """A copy of a model with another checkpoint."""
    folder = tmp_path / "theirs"
    shutil.copytree(MODELS / name, folder)
    (file,) = folder.glob("*.pt")
    checkpoint = read_pickled(file)
    change(checkpoint)
    torch.save(checkpoint, file)
    return folder


def option(**values: Any) -> Change:
    def change(checkpoint: dict[str, Any]) -> None:
        checkpoint["opt"].__dict__.update(values)

    return change


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (option(encoder_type="brnn"), ConfigError, "encoder_type: 'brnn'"),
        (option(model_task="lm"), ConfigError, "model_task: 'lm'"),
        (option(parallel_residual=True), ConfigError, "parallel_residual: True"),
        (option(sliding_window=4), ConfigError, "sliding_window: 4"),
        (option(copy_attn=True), ConfigError, "copy_attn: True"),
        (option(self_attn_type="average"), ConfigError, "self_attn_type: 'average'"),
        (option(relative_positions_buckets=32), ConfigError, "relative_positions_buckets: 32"),
        (option(position_encoding_type="SinusoidalConcat"), ConfigError, "'SinusoidalConcat'"),
        (option(num_experts=8), ConfigError, "num_experts: 8"),
        (option(lora_layers=["linear_query"]), ConfigError, "lora_layers"),
        (option(pos_ffn_activation_fn="tanh"), ConfigError, "pos_ffn_activation_fn: 'tanh'"),
        (option(max_relative_positions=4), ConfigError, "together are not known"),
        (option(heads=5), DataError, "d_model 12 is not divisible by heads 5"),
        (option(decoder_start_token="<x>"), DataError, "token: '<x>' is no target piece"),
        (option(heads="two"), DataError, "option heads: expected a number"),
        (option(num_kv=3), DataError, "num_kv: 3 does not divide 2"),
        (option(enc_layers=3), DataError, "encoder.transformer.2.self_attn"),
        (option(enc_layers=1), ConfigError, "which no family here can express"),
        (option(num_kv=float("inf")), DataError, "num_kv: expected a number: inf"),
        (
            lambda found: found["vocab"]["src"].__setitem__(5, "\ud800"),
            DataError,
            r"'\\ud800' has half of a surrogate pair",
        ),
        (lambda found: found.pop("opt"), DataError, "no checkpoint of OpenNMT-py"),
        (lambda found: found.update(opt={}), DataError, "'opt' holds a dict"),
        (lambda found: found["vocab"].update(src=3), DataError, "no list of the pieces of src"),
        (lambda found: found["vocab"]["src"].append("e"), DataError, "a piece of src twice"),
        (lambda found: found["vocab"]["src"].append("new"), DataError, "do not belong together"),
        (lambda found: found["vocab"].update(src_feats=[["a"]]), ConfigError, "source features"),
        (lambda found: found["vocab"]["src"].append("a\uffed"), ConfigError, "joiners"),
        (lambda found: found["model"].update(extra=torch.ones(1)), ConfigError, "weight extra"),
        (
            lambda found: found["generator"]["weight"].fill_(float("nan")),
            DataError,
            "NaN or infinite",
        ),
    ],
)
def test_what_is_not_known_or_damaged_is_refused(
    tmp_path: Path, change: Change, error: type[Exception], message: str
) -> None:
    folder = changed(tmp_path, change)
    with pytest.raises(error, match=message):
        import_model(folder, tmp_path / "ours", toolkit="opennmt")
    assert not (tmp_path / "ours").exists()


def test_weights_that_are_no_heads_are_refused(tmp_path: Path) -> None:
    def change(found: dict[str, Any]) -> None:
        weight = "encoder.transformer.0.self_attn.linear_query.weight"
        found["model"][weight] = torch.ones(13, 12)

    folder = changed(tmp_path, change, "opennmt3/rotary")
    with pytest.raises(DataError, match=r"\.pt: a weight of the shape \[13, 12\] is not of 2"):
        import_model(folder, tmp_path / "ours", toolkit="opennmt")


class Malicious:
    """What runs something when it is unpickled."""

    def __reduce__(self) -> Any:
        return (print, ("owned",))


def test_pickle_that_would_run_something_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(tmp_path, lambda found: found.update(vocab=Malicious()))
    with pytest.raises(DataError, match="print, which is not data"):
        import_model(folder, tmp_path / "ours", toolkit="opennmt")
    assert "owned" not in capsys.readouterr().out


def test_names_of_torchtext_are_only_stand_ins() -> None:
    found = read_pickled(next((MODELS / "opennmt2").glob("*.pt")))
    field = found["vocab"]["src"].fields[0][1]
    assert issubclass(type(field), StandIn)
    assert field.vocab.itos[:2] == ["<unk>", "<blank>"]


def test_weights_may_be_in_a_file_of_safetensors(tmp_path: Path) -> None:
    def apart(found: dict[str, Any]) -> None:
        generator = {f"generator.{name}": tensor for name, tensor in found["generator"].items()}
        tensors = {name: one.clone() for name, one in (found["model"] | generator).items()}
        save_file(tensors, tmp_path / "weights")
        del found["model"], found["generator"]

    folder = changed(tmp_path, apart)
    (file,) = folder.glob("*.pt")
    (tmp_path / "weights").rename(file.with_suffix(".safetensors"))
    assert largest_difference("opennmt", folder) < 1e-4


def test_newest_checkpoint_of_a_directory_is_read(tmp_path: Path) -> None:
    shutil.copytree(POSITIONS, tmp_path / "theirs")
    (tmp_path / "theirs" / "model_step_90.pt").write_bytes(b"older, and not read")
    assert importer_of(tmp_path / "theirs").name == "opennmt"
    found = importer_from("opennmt").read(tmp_path / "theirs", ("en", None))
    assert found.origin == "OpenNMT-py, model_step_400.pt"
    assert (found.config.source_language, found.config.target_language) == ("en", "target")
    assert found.notes[0].startswith("Its files do not say the target language")
    with pytest.raises(DataError, match="no checkpoint of OpenNMT-py here"):
        importer_from("opennmt").read(tmp_path, (None, None))


def test_files_of_splitting(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(POSITIONS, folder)
    reader = importer_from("opennmt")
    (folder / "sentencepiece.model").rename(folder / "source.model")
    assert largest_difference("opennmt", folder) < 1e-4  # the only one serves both sides
    shutil.copy(folder / "source.model", folder / "tgt.spm")
    assert largest_difference("opennmt", folder) < 1e-4
    shutil.copy(folder / "source.model", folder / "tgt.model")
    with pytest.raises(DataError, match=r"tgt.model, tgt.spm may each say how the target"):
        reader.read(folder, (None, None))
    (folder / "tgt.spm").unlink()
    (folder / "source.model").rename(folder / "sentencepiece.model")  # as exports have it
    assert largest_difference("opennmt", folder) < 1e-4
    (folder / "tgt.model").unlink()
    (folder / "sentencepiece.model").unlink()
    with pytest.raises(DataError, match="no file here says how text is split"):
        reader.read(folder, (None, None))


def test_a_file_that_names_both_sides_is_for_both(tmp_path: Path) -> None:
    """Another one, that names none, is not preferred to it."""
    folder = tmp_path / "theirs"
    shutil.copytree(POSITIONS, folder)
    (folder / "sentencepiece.model").rename(folder / "joint.en-de.model")
    (folder / "older.model").write_bytes(b"of something else")
    found = importer_from("opennmt").read(folder, ("en", "de"))
    assert found.vocabularies.source.encode("a") != []
    shutil.copy(folder / "joint.en-de.model", folder / "en.model")
    (folder / "joint.en-de.model").write_bytes(b"of something else")
    with pytest.raises(DataError, match=r"joint.en-de.model: not a sentencepiece model"):
        importer_from("opennmt").read(folder, ("en", "de"))  # for the target alone


def test_files_are_named_after_languages_with_a_region(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(POSITIONS, folder)
    shutil.copy(folder / "sentencepiece.model", folder / "spm.pt_BR.model")
    (folder / "sentencepiece.model").rename(folder / "spm.zh-CN.model")
    found = importer_from("opennmt").read(folder, ("pt-BR", "zh_CN"))
    assert found.config.target_language == "zh_CN"
    (folder / "spm.pt_BR.model").write_bytes(b"of the source")
    with pytest.raises(DataError, match=r"spm\.pt_BR\.model: not a sentencepiece model"):
        importer_from("opennmt").read(folder, ("pt-BR", "zh_CN"))


def test_merges_of_subword_nmt(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    pytest.importorskip("subword_nmt")

    def words(found: dict[str, Any]) -> None:
        for side in ("src", "tgt"):
            pieces = found["vocab"][side]
            pieces[4:] = [f"piece{number}" for number in range(len(pieces) - 4)]
            pieces[4:9] = ["lo@@", "w", "er", "&apos;s", ","]

    folder = changed(tmp_path, words)
    (folder / "sentencepiece.model").unlink()
    (folder / "bpe.codes").write_text("#version: 0.2\nl o\ne r</w>\n")
    import_model(folder, tmp_path / "ours", toolkit="opennmt", languages=("en", "de"))
    with dragoman.load(tmp_path / "ours") as translator:
        source = translator.vocabularies.source
        assert source.pieces(source.encode("low er,")) == ["lo@@", "w", "er", ","]
        assert source.decode(source.ids(["lo@@", "w", "&apos;s", ","])) == "low's,"
    found = importer_from("opennmt").read(folder, ("en", "de"))
    assert any("Moses tokeniser, with its escapes" in note for note in found.notes)


def test_paths_in_options_lead_nowhere(tmp_path: Path) -> None:
    folder = changed(tmp_path, option(src_subword_model="/etc/passwd"))
    assert largest_difference("opennmt", folder) < 1e-4  # the file beside the model is taken
