from __future__ import annotations

import json
import os
import weakref
from pathlib import Path

import pytest
import torch
from command_line import call, one_error
from tiny_model import save_tiny_model

from dragoman.cli.commands.foreign_models import import_foreign
from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.exchange import importing
from dragoman.exchange.foreign_files import ForeignWeights, read_object, read_state
from dragoman.exchange.importing import importer_from, importer_of
from dragoman.exchange.interface import Importer
from dragoman.exchange.toolkits import IMPORTERS

MODELS = Path(__file__).parent / "models"


def test_every_toolkit_has_its_importer() -> None:
    """And the command line, which imports none of them, offers the same ones."""
    (toolkit,) = (option for option in import_foreign.params if option.name == "toolkit")
    assert IMPORTERS.names() == toolkit.type.choices  # type: ignore[attr-defined]
    for name in IMPORTERS.built_in:
        assert importer_from(name).name == name
        assert isinstance(importer_from(name), Importer)
    with pytest.raises(ConfigError, match="no importer 'moses'; choose one of: huggingface"):
        importer_from("moses")


def test_a_model_is_recognised_by_its_files(tmp_path: Path) -> None:
    assert importer_of(MODELS / "huggingface_marian" / "shared").name == "huggingface-marian"
    with pytest.raises(DataError, match=r"not recognised .* --from: huggingface-marian"):
        importer_of(tmp_path)
    with pytest.raises(DataError, match=r"absent: no such file or directory"):
        importer_of(tmp_path / "absent")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (
            {"model_type": "m2m_100", "architectures": ["M2M100ForConditionalGeneration"]},
            "this is M2M100 or NLLB (M2M100ForConditionalGeneration of Hugging Face Transformers)",
        ),
        ({"model_type": "umt5"}, "this is umT5 (Hugging Face Transformers)"),
        ({"model_type": "new", "architectures": None}, 'this is a model of type "new" (Hugging'),
    ],
)
def test_an_architecture_that_is_not_imported_is_named(
    values: dict[str, object], name: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    (tmp_path / "model.safetensors").touch()
    output = ("--output", tmp_path / "m")
    error = one_error(call("import", tmp_path, *output), 3)
    assert name in error
    assert "which is not imported; models of these toolkits are: huggingface-marian, " in error
    chosen = one_error(call("import", tmp_path, "--from", "huggingface-marian", *output), 3)
    assert f"expected 'marian': {name.replace('this is', 'it is')}" in chosen


@pytest.mark.parametrize(
    ("file", "name"),
    [("model.gguf", "llama.cpp"), ("decoder.onnx", "ONNX")],
)
def test_files_of_other_programs_are_named(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file).touch()
    for path in (tmp_path, tmp_path / file):
        with pytest.raises(DataError, match=f"this is .*{name}.* not imported"):
            importer_of(path)


def test_what_one_toolkit_needs_does_not_hurt_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(toolkit: str) -> Importer:
        if toolkit == "fairseq":
            raise MissingExtraError("sacremoses is not installed")
        return importer_from(toolkit)

    monkeypatch.setattr(importing, "importer_from", missing)
    assert importer_of(MODELS / "huggingface_marian" / "shared").name == "huggingface-marian"


def test_the_command_tells_what_is_wrong(tmp_path: Path) -> None:
    output = ("--output", tmp_path / "m")
    assert "not recognised" in one_error(call("import", tmp_path, *output), 3)
    assert "no such file" in one_error(call("import", tmp_path / "x", *output), 3)
    named = ("--from", "huggingface-marian", *output)
    assert "config.json: cannot be read" in one_error(call("import", tmp_path, *named), 3)
    assert "no such file" in one_error(call("import", tmp_path / "x", *named), 3)
    german = ("--to-language", "d e", *output)
    assert "'d e' is no language tag" in one_error(call("import", tmp_path, *german), 2)
    ours = save_tiny_model(tmp_path / "ours")
    assert "a model of Dragoman already" in one_error(call("import", ours, *output), 3)
    assert "'moses' is not one of" in one_error(call("import", tmp_path, "--from", "moses"), 2)
    assert not (tmp_path / "m").exists()


def test_a_released_weight_is_not_kept_beside_what_was_made_of_it() -> None:
    original = torch.ones(2)
    held, theirs = weakref.ref(original), ForeignWeights({"a": original, "b": original}, Path("f"))
    del original
    assert held() is not None
    theirs.take("a")
    theirs.release()
    assert held() is None
    with pytest.raises(ConfigError, match="f: has the weight b, which no family"):
        theirs.check_all_taken()


def test_weights_are_taken_once_and_none_is_left() -> None:
    bfloat = torch.ones(2, 3, dtype=torch.bfloat16)
    theirs = ForeignWeights({"fc.weight": bfloat, "extra": bfloat}, Path("file"))
    assert "fc.weight" in theirs
    found = theirs.layer("fc", "ours", bias=True)
    assert found["ours.weight"].dtype == torch.float32
    assert found["ours.bias"].tolist() == [0, 0]
    assert set(theirs.layer("fc", "ours")) == {"ours.weight"}
    with pytest.raises(ConfigError, match="file: has the weight extra, which no family"):
        theirs.check_all_taken()
    other = ForeignWeights({"extra\nline": bfloat}, Path("file"))
    with pytest.raises(ConfigError, match="file: has the weight extra line, which no family"):
        other.check_all_taken()
    theirs.ignore(["extra"])
    theirs.check_all_taken()
    with pytest.raises(DataError, match=r"fc\.weight is one number, expected a vector"):
        ForeignWeights({"fc.weight": torch.tensor(1.0)}, Path("file")).layer(
            "fc", "ours", bias=True
        )


def test_files_that_are_too_large_or_no_text(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.truncate(2**28 + 1)  # a hole: nothing is written
    with pytest.raises(DataError, match="larger than 256 MB"):
        read_object(large)
    (tmp_path / "a.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"a.json: not UTF-8 \(byte 0\)"):
        read_object(tmp_path / "a.json")
    with pytest.raises(DataError, match=r"cannot be read: it is no ordinary file"):
        read_object(tmp_path)
    with pytest.raises(DataError, match=r"cannot be read: it is no ordinary file"):
        read_object(Path(os.devnull))
    with pytest.raises(DataError, match=r"cannot be read: No such file"):
        read_object(tmp_path / "absent.json")
    with pytest.raises(DataError, match=r"a.safetensors: damaged"):
        read_state(tmp_path / "a.safetensors")
