from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.exchange.exporting import export_model
from dragoman.models.families.transformer import TransformerConfig
from dragoman.text.examples import Direction
from dragoman.translation.translator import Translator

SIZES: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_model": 8,
    "d_ff": 8,
    "heads": 2,
}
LINES = ["a b c", "e d"]
EN_DE = Direction(source_language="en", target_language="de")


def save(path: Path, **values: Any) -> Path:
    config = TransformerConfig(**SIZES, **values)
    return save_tiny_model(path, config=config, directions=(EN_DE,), seed=3)


@pytest.mark.parametrize(
    ("values", "longest"),
    [
        ({}, 1279),
        ({"norm": "pre", "positions": "learned", "embeddings": "separate", "max_positions": 9}, 8),
        ({"activation": "swish", "attention_bias": True, "output_bias": True}, 1279),
        ({"normalize_embeddings": True, "positions": "learned", "max_positions": 9}, 8),
        ({"positions": "rotary", "begin": "zeros"}, None),
    ],
)
def test_it_gives_what_the_model_gives(
    values: dict[str, Any], longest: int | None, tmp_path: Path
) -> None:
    report = export_model(save(tmp_path / "m", **values), "ctranslate2", tmp_path / "out")
    assert report.difference is not None and report.difference < 1e-4
    assert report.equal_texts is None
    limits = re.findall(r"up to (\d+) pieces: longer ones fail", " ".join(report.differences))
    assert limits == ([] if longest is None else [str(longest)])


def test_heads_of_another_width_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"CTranslate2 needs d_k and d_v of .* not \(3, 4\)"):
        export_model(save(tmp_path / "m", d_k=3), "ctranslate2", tmp_path / "out")


def test_fewer_bits_are_measured(tmp_path: Path) -> None:
    model = save(tmp_path / "m")
    report = export_model(model, "ctranslate2", tmp_path / "out", quantisation="int8")
    assert report.difference is not None and 1e-4 < report.difference < 2
    assert report.equal_texts is not None and 0 <= report.equal_texts[0] <= 20
    assert "in int8" in report.compared


@pytest.mark.parametrize("allowed", [False, True])
def test_the_card_suppresses_what_the_model_may_not_write(allowed: bool, tmp_path: Path) -> None:
    search: dict[str, Any] = {"allow_tags": allowed, "allow_unknown": allowed}
    model = save_tiny_model(tmp_path / "m", tags=("<br>",), directions=(EN_DE,), **search)
    output = tmp_path / "out"
    export_model(model, "ctranslate2", output)
    card = (output / "README.md").read_text("utf-8")
    (told,) = re.findall(r"suppress_sequences=(\[\[.*?\]\])$", card, re.M)
    expected = [["<pad>"], ["<s>"]] if allowed else [["<pad>"], ["<s>"], ["<unk>"], ["<br>"]]
    assert sorted(ast.literal_eval(told)) == sorted(expected)


def test_the_program_in_the_card_translates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save(tmp_path / "m")
    output = tmp_path / "out"
    export_model(model, "ctranslate2", output)
    (code,) = re.findall("```python\n(.*?)```", (output / "README.md").read_text("utf-8"), re.S)
    code = code.replace("DIR", str(output)).replace("beam_size=4", "beam_size=1")
    said = []
    for line in LINES:
        exec(code.replace('"..."', repr(line)), {})
        said.append(capsys.readouterr().out.strip())
    own = Translator.load(model, device="cpu")
    expected = own.translate(LINES, beam=1, minimum_length=1, degenerate="keep", extra_length=50)
    assert [text[:20] for text in said] == [text[:20] for text in expected]
    assert len(set(said)) == len(LINES)


def test_it_is_a_package_of_argos_translate(tmp_path: Path) -> None:
    output = tmp_path / "out"
    export_model(save(tmp_path / "m"), "ctranslate2", output)
    metadata = json.loads((output / "metadata.json").read_text("utf-8"))
    assert (metadata["from_code"], metadata["to_code"]) == ("en", "de")
    assert {"metadata.json", "sentencepiece.model", "model"} <= {p.name for p in output.iterdir()}
