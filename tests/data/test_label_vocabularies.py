"""Vocabularies of a run whose targets are labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, DataError
from dragoman.data.origin import describe
from dragoman.data.vocabularies import Parent, prepare_vocabularies
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.labels import labels_of
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

CONFIG = VocabularyConfig(size=10)


def parts(folder: Path, *labels: str) -> list[CorpusPart]:
    found = []
    for number, label in enumerate(labels):
        path = folder / f"{number}.txt"
        path.write_text("a b c\nb c a\n" * 9, encoding="utf-8")
        found.append(CorpusPart(source=str(path), label=label))
    return found


def prepared(
    run: Path,
    text: list[CorpusPart],
    config: VocabularyConfig = CONFIG,
    parent: Parent | None = None,
) -> Vocabularies:
    cleaning = CleaningConfig(max_length_ratio=None, drop_duplicates=False)
    inputs = describe([file for part in text for file in part.files()], [])
    return prepare_vocabularies(
        run, text, config, cleaning, seed=1, inputs=inputs, labels=True, parent=parent
    )


@pytest.fixture
def parent() -> Vocabularies:
    return train_vocabularies([("a b c d", "x y")] * 9, VocabularyConfig(size=14), seed=1)


def test_one_of_the_sources_and_one_of_all_labels(tmp_path: Path) -> None:
    """Also labels that the sample for the sources leaves out."""
    text = parts(tmp_path, "de", "en", "fr")
    config = CONFIG.model_copy(update={"training_pairs": 1, "size": 8})
    found = prepared(tmp_path, text, config)
    assert labels_of(found.target) == ["de", "en", "fr"]
    assert "de" not in "".join(found.source.pieces(range(len(found.source))))
    assert prepared(tmp_path, text, config).fingerprints == found.fingerprints
    changed = parts(tmp_path, "de", "en", "it")
    assert labels_of(prepared(tmp_path, changed, config).target) == ["de", "en", "it"]


def test_sources_of_another_model(tmp_path: Path, parent: Vocabularies) -> None:
    given = Parent(parent, "runs/old", extended=False)
    found = prepared(tmp_path, parts(tmp_path, "de", "en"), parent=given)
    assert found.source.fingerprint == parent.source.fingerprint
    assert labels_of(found.target) == ["de", "en"]
    assert prepared(tmp_path, parts(tmp_path, "de", "en"), parent=given) is not None


def test_sources_of_another_model_extended(tmp_path: Path, parent: Vocabularies) -> None:
    (tmp_path / "more").mkdir()
    text = parts(tmp_path / "more", "de", "en")
    Path(text[0].files()[0]).write_text("e f e f\n" * 9, encoding="utf-8")
    config = CONFIG.model_copy(update={"size": 18})
    given = Parent(parent, "runs/old", extended=True)
    found = prepared(tmp_path, text, config, parent=given)
    pieces = parent.source.pieces(range(len(parent.source)))
    assert found.source.pieces(range(18))[: len(pieces)] == pieces
    assert labels_of(found.target) == ["de", "en"]


def test_vocabularies_put_there_must_be_those_of_the_other_model(
    tmp_path: Path, parent: Vocabularies
) -> None:
    prepared(tmp_path, parts(tmp_path, "de", "en"))
    (tmp_path / "vocabulary.json").unlink()
    given = Parent(parent, "runs/old", extended=False)
    with pytest.raises(ConfigError, match="not that of runs/old"):
        prepared(tmp_path, parts(tmp_path, "de", "en"), parent=given)


def test_one_label_is_nothing_to_choose_from(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is only 'de'"):
        prepared(tmp_path, parts(tmp_path, "de", "de"))
