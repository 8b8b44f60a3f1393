"""Lines to labels: probabilities, order, and what has no label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny_model import save_tiny_classifier, save_tiny_model

import dragoman
from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.data.batches import pad_sources
from dragoman.saved.model import load_model
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.classification import Classifier

LABELS = ["de", "en", "fr"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("classifier"), LABELS)


TEXTS = ["a b c", "e d c b a e d", "b", "c c", "d e", "a a a a"]


def test_probabilities_are_the_softmax_over_labels(path: Path) -> None:
    """Of each line alone, although lines of other lengths share its batch."""
    saved = load_model(path, "cpu")
    model = saved.model.eval()
    found = list(Classifier.load(path, device="cpu").stream(TEXTS, nbest=9))
    for text, line in zip(TEXTS, found, strict=True):
        source, mask = pad_sources([saved.vocabularies.source.encode(text)])
        with torch.no_grad():
            memory = model.encode(source, mask)
            hidden, _ = model.decode(torch.tensor([[BOS]]), memory, model.start(memory))
            shares = model.logits(hidden)[0, 0, EOS + 1 :].softmax(-1)
        assert {one.label: pytest.approx(one.probability, abs=1e-6) for one in line.best} == dict(
            zip(LABELS, shares.tolist(), strict=True)
        )
        values = [one.probability for one in line.best]
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1)


def test_tags_of_all_training_parts_are_put_in_front(tmp_path: Path) -> None:
    """And none that a single part has: a line does not say which it is like."""
    directions = (
        Direction(source_language="text", target_language="label", tags=("<cls>", "<ui>")),
        Direction(source_language="text", target_language="label", tags=("<cls>",)),
    )
    path = save_tiny_classifier(tmp_path / "tagged", LABELS, directions=directions)
    saved = load_model(path, "cpu")
    plain = Classifier([saved.model], saved.vocabularies)
    loaded = Classifier.load(path, device="cpu")
    texts = TEXTS[2:]
    expected = plain.classify([f"<cls> {text}" for text in texts])
    for one, other, bare in zip(
        loaded.classify(texts), expected, plain.classify(texts), strict=True
    ):
        assert one is not None and other is not None and bare is not None
        assert one.label == other.label
        assert one.probability == pytest.approx(other.probability, abs=1e-5)
        assert one.probability != pytest.approx(bare.probability, abs=1e-5)
    assert loaded.classify([""]) == [None]


def test_an_ensemble_is_the_mean(path: Path, tmp_path: Path) -> None:
    other = save_tiny_classifier(tmp_path / "other", LABELS, seed=2)
    one, two, both = (
        next(Classifier.load(*paths, device="cpu").stream(["a b c"], nbest=3)).best
        for paths in ([path], [other], [path, other])
    )
    single = dict(one)
    for label, probability in two:
        # Normalised over labels after the mean: equal only as far as other symbols are unlikely.
        assert dict(both)[label] == pytest.approx((single[label] + probability) / 2, abs=0.1)


def test_empty_lines_and_lines_that_are_too_long(path: Path) -> None:
    classifier = dragoman.load_classifier(path, device="cpu")
    assert classifier.labels == LABELS
    progress: list[int] = []
    lines = ["a", "", " ", "a " * 12, "b"]
    found = list(classifier.stream(lines, buffer_lines=2, progress=progress.append))
    assert [len(one.best) for one in found] == [1, 0, 0, 0, 1]
    assert found[3].refused == (
        "line 4: 12 pieces are more than search.max_source_pieces 9; split the line or raise the "
        "limit"
    )
    assert progress == [2, 4, 5]
    assert [one and one.label in LABELS for one in classifier.classify(lines[:3])] == [
        True,
        None,
        None,
    ]
    with pytest.raises(DataError, match="line 4: 12 pieces"):
        classifier.classify(lines)


def test_lines_are_labelled_as_they_come(path: Path) -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for text in TEXTS:
            read.append(text)
            yield text

    next(Classifier.load(path, device="cpu").stream(lines(), buffer_lines=2))
    assert len(read) == 2


def test_models_of_the_other_kind_are_refused(path: Path, tmp_path: Path) -> None:
    translator = save_tiny_model(tmp_path / "translator")
    with pytest.raises(ConfigError, match="no classifier but a model of the family transformer"):
        Classifier.load(translator, device="cpu")
    with pytest.raises(ConfigError, match="a classifier, which labels text and cannot translate"):
        dragoman.load(path)
    with pytest.raises(SavedError, match="target vocabulary is not that of"):
        others = save_tiny_classifier(tmp_path / "others", ["x", "y"])
        Classifier.load(path, others, device="cpu")
    with pytest.raises(ConfigError, match="at least one classifier"):
        Classifier.load()
    with pytest.raises(ConfigError, match="at least 1 label"):
        next(Classifier.load(path, device="cpu").stream(["a"], nbest=0))
