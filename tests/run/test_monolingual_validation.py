"""A dev set without translations: any model can be scored on any text that it can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_model import save_tiny_model
from worlds import ALONE, together

from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.run.monolingual_validation import RoundTripValidation
from dragoman.saved.model import load_model
from dragoman.search import SearchConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.distributed import World
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator
from dragoman.validation import ROUND_TRIP


def text_alone(directory: Path, text: str) -> CorpusPart:
    (directory / "mono").write_text(text, encoding="utf-8")
    values = {"target": str(directory / "mono"), "source_language": "y", "target_language": "x"}
    transforms = [{"kind": "back_translation"}, {"kind": "tag"}]
    return CorpusPart.model_validate({**values, "transforms": transforms})


def trips(
    part: CorpusPart, vocabularies: Vocabularies, world: World = ALONE, **search: Any
) -> RoundTripValidation:
    config = SearchConfig(**search)
    return RoundTripValidation(
        part, vocabularies, config, EvaluationConfig(metrics=("chrf",)), world, back=("<2y>",)
    )


def test_a_round_trip_may_have_fewer_sentences_than_processes(tmp_path: Path) -> None:
    part = text_alone(tmp_path, "a b c\n")
    loaded = load_model(save_tiny_model(tmp_path / "model", tags=("<2x>", "<2y>")), "cpu")

    def report(world: World) -> dict[str, Any]:
        return trips(part, loaded.vocabularies, world, extra_length=3).report(loaded.model)

    alone = report(ALONE)
    assert ROUND_TRIP in alone and "chrf" not in alone
    for one in together(2, report):
        assert one.result()["loss"] == pytest.approx(alone["loss"], rel=1e-5)


def test_text_is_checked_with_the_tags_of_the_way_there(tmp_path: Path) -> None:
    loaded = load_model(save_tiny_model(tmp_path / "model", tags=("<2x>", "<2y>")), "cpu")
    text = "a b c"
    pieces = len(loaded.vocabularies.source.encode(text))
    part = text_alone(tmp_path, f"{text}\n")
    fits = trips(part, loaded.vocabularies, max_source_pieces=pieces + 1)
    fits.check_lengths(loaded.model)
    fits.report(loaded.model)
    with pytest.raises(DataError, match=f"line 1: {pieces + 1} pieces"):
        trips(part, loaded.vocabularies, max_source_pieces=pieces).check_lengths(loaded.model)


def test_a_translation_of_more_pieces_than_the_model_wrote_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of untrained models may have, whose pieces the vocabulary would not choose."""
    loaded = load_model(save_tiny_model(tmp_path / "model", tags=("<2x>", "<2y>")), "cpu")
    made = trips(text_alone(tmp_path, "a b c\n"), loaded.vocabularies, max_source_pieces=9)
    read: list[str] = []
    stream = Translator.stream_nbest

    def rambling(self: Translator, lines: list[str], *, maximum_length: int) -> list[str]:
        return ["a b c d e " * 9 for _ in lines]  # the way there

    def back(self: Translator, lines: list[str], **options: Any) -> Iterator[list[Translation]]:
        read.extend(lines)
        return stream(self, lines, **options)

    monkeypatch.setattr(Translator, "translate", rambling)
    monkeypatch.setattr(Translator, "stream_nbest", back)
    made.report(loaded.model)
    (source,) = read
    tag, _, text = source.partition(" ")
    assert tag == "<2x>"
    assert ("a b c d e " * 9).startswith(text)
    assert len(loaded.vocabularies.source.encode(source)) == 9
