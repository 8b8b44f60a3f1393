from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import yaml
from tiny_model import save_tiny_model

import dragoman
from dragoman.core.errors import ConfigError, ExportError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.marian_files import read_npz
from dragoman.exchange.marian_formulas import MarianTransformer
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_model
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import EOS

SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 8,
    "d_ff": 12,
    "heads": 2,
    "timescales": "tensor2tensor",
    "begin": "zeros",
}


def save(path: Path, **values: Any) -> Path:
    return save_tiny_model(path, config=TransformerConfig(**{**SIZES, **values}), seed=3)


VARIANTS: list[tuple[dict[str, Any], list[float]]] = [
    ({}, [-14.807577, -8.668607, -16.719648]),
    ({"embeddings": "inputs"}, [-13.833122, -5.02623, -12.75977]),
    (
        {"embeddings": "separate", "activation": "swish", "output_bias": True},
        [-14.907721, -6.392407, -15.554161],
    ),
    (
        {"embeddings": "target", "attention_bias": True, "final_norm": True, "norm_epsilon": 1e-6},
        [-17.534517, -6.720126, -13.394516],
    ),
]
"""Settings, and what ``marian-scorer`` 1.12.42 (pymarian) makes of the export for :data:`PAIRS`."""
PAIRS = [("a b c d e", "e d c"), ("b a", "b"), ("e e e d d a b c", "c c b a")]


@pytest.mark.parametrize(("values", "scores"), VARIANTS)
def test_marian_itself_and_its_formulas_give_what_the_model_gives(
    values: dict[str, Any], scores: list[float], tmp_path: Path
) -> None:
    model = save(tmp_path / "m", **values)
    report = export_model(model, "marian", tmp_path / "out")
    assert report.difference is not None and report.difference < 5e-4
    assert "Marian itself was not run" in report.compared
    with dragoman.load(model, device="cpu") as translator:
        ours = translator.score(*zip(*PAIRS, strict=True))
    assert [one.log_probability for one in ours] == pytest.approx(scores, abs=1e-3)
    read = MarianTransformer(*read_npz(tmp_path / "out" / "model.npz"))
    vocabularies = load_model(model, "cpu").vocabularies
    for (source, target), score in zip(PAIRS, scores, strict=True):
        wanted = [*vocabularies.target.encode(target), EOS]
        found = read.log_probabilities([*vocabularies.source.encode(source), EOS], wanted)
        assert found[range(len(wanted)), wanted].sum() == pytest.approx(score, abs=1e-4)


def test_the_archive_has_what_marian_reads(tmp_path: Path) -> None:
    output = tmp_path / "out"
    export_model(save(tmp_path / "m"), "marian", output)
    weights, options = read_npz(output / "model.npz")
    assert options["type"] == "transformer"
    assert options["tied-embeddings-all"]
    assert weights["Wemb"].shape == (options["dim-vocabs"][0], 8)
    assert weights["encoder_l2_self_Wo_ln_scale"].shape == (1, 8)
    assert weights["decoder_l1_ffn_W1"].shape == (8, 12)
    assert {value.dtype for value in weights.values()} == {np.dtype("float32")}
    assert {value.ndim for value in weights.values()} == {2}
    decoder = yaml.safe_load((output / "decoder.yml").read_text("utf-8"))
    assert all((output / name).is_file() for name in (*decoder["models"], *decoder["vocabs"]))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"timescales": "paper"}, "model.timescales: paper, only tensor2tensor; Marian's"),
        ({"begin": "symbol"}, "model.begin: symbol, only zeros"),
        ({"activation": "gelu"}, "model.activation: gelu, only relu or swish"),
        ({"positions": "none", "timescales": "paper"}, "model.positions: none, only sinusoidal"),
        ({"d_k": 3}, "model.d_k: 3, only null"),
        ({"norm": "pre"}, "model.norm: pre, only post; Marian's"),
    ],
)
def test_what_marian_cannot_express_is_refused(
    values: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        export_model(save(tmp_path / "m", **values), "marian", tmp_path / "out")
    assert told in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_no_result_at_all_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN, which is neither more nor less than any other difference, of all sentences but one."""
    told = MarianTransformer.log_probabilities

    def some(self: MarianTransformer, source: list[int], target: list[int]) -> Any:
        return told(self, source, target) * (1.0 if len(source) == 2 else np.nan)

    monkeypatch.setattr(MarianTransformer, "log_probabilities", some)
    with pytest.raises(ExportError, match=r"differ by up to nan"):
        export_model(save(tmp_path / "m"), "marian", tmp_path / "out")


def test_another_result_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.exchange.marian_formulas._EPSILON", 0.5)
    with pytest.raises(ExportError, match=r"Marian's formulas give .* differ by up to"):
        export_model(save(tmp_path / "m"), "marian", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_text_with_tags_in_front_is_split_as_the_model_reads_it(tmp_path: Path) -> None:
    directions = (Direction(source_language="en", target_language="de", tags=("<2de>", "<a>")),)
    tags = ("<2de>", "<a>", "<t1>")
    config = TransformerConfig(**SIZES)
    path = save_tiny_model(tmp_path / "m", config=config, tags=tags, directions=directions)
    export_model(path, "marian", tmp_path / "out")
    (spm,) = (tmp_path / "out").glob("*.spm")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    ours = load_model(path, "cpu").vocabularies.source
    assert len(theirs) == len(ours)
    for text in ("<2de> the fox", "<2de> <a> the fox", "the fox", "the<t1> fox"):
        assert theirs.encode(text) == ours.encode(text)
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "In front of each text, followed by a space, write:" in card
    assert "| en to de | `<2de> <a>` |" in card
