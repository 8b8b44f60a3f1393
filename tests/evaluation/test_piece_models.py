"""spBLEU, with a small model in place of those that sacrebleu downloads."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import sacrebleu
import sentencepiece
from sacrebleu.tokenizers import tokenizer_spm

from dragoman.core.errors import DownloadError
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus

SAID = ["今天天气非常好我们去公园", "the house is small"]
MEANT = ["今天天气非常好我们去学校", "the house is too small"]
CONFIG = EvaluationConfig(metrics=("bleu",), bleu_tokenize="flores200")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, written = tmp_path_factory.mktemp("pieces") / "pieces.model", io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter((SAID + MEANT) * 20),
        model_writer=written,
        vocab_size=45,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path.write_bytes(written.getvalue())
    return path


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: Path) -> Path:
    """Where sacrebleu keeps the model, which it downloads from a file."""
    for module in ("utils", "tokenizers.tokenizer_spm"):
        monkeypatch.setattr(f"sacrebleu.{module}.SACREBLEU_DIR", str(tmp_path / "kept"))
    settings = {"url": model.as_uri(), "signature": "flores200"}
    monkeypatch.setitem(tokenizer_spm.SPM_MODELS, "flores200", settings)
    return tmp_path / "kept" / "models" / model.name


def test_pieces_are_the_words_of_bleu(
    kept: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (score,) = score_corpus(SAID, [MEANT], CONFIG)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    said, meant = (
        [" ".join(pieces.EncodeAsPieces(line)) for line in lines] for lines in (SAID, MEANT)
    )
    expected = sacrebleu.corpus_bleu(said, [meant], tokenize="none", force=True).score
    assert score.value == pytest.approx(expected)
    assert 20 < expected < 90
    assert "tok:flores200" in score.signature
    assert kept.read_bytes() == model.read_bytes()
    assert "downloading the model of the tokenizer flores200" in caplog.text
    caplog.clear()
    score_corpus(SAID, [MEANT], CONFIG)
    assert not caplog.text


def test_what_cannot_be_downloaded_leaves_nothing(
    kept: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = (tmp_path / kept.name).as_uri()  # no such file
    monkeypatch.setitem(tokenizer_spm.SPM_MODELS["flores200"], "url", url)
    with pytest.raises(DownloadError, match=f"cannot be downloaded.*put the file at {kept}"):
        score_corpus(SAID, [MEANT], CONFIG)
    assert not kept.exists()


def test_a_damaged_model_is_told(kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"")
    with pytest.raises(DownloadError, match="not the SentencePiece model of the tokenizer"):
        score_corpus(SAID, [MEANT], CONFIG)
