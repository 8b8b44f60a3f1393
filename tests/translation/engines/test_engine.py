"""Batches that do not fit into memory are searched in halves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tiny_model import save_tiny_model
from torch import Tensor

from dragoman.core.errors import NotEnoughMemoryError
from dragoman.search import Hypothesis
from dragoman.text.terms.line_demands import LineDemands
from dragoman.translation.engines.engine import FittingSearch, SourceBatch
from dragoman.translation.translator import Translator

LINES = ["a b c", "b a", "e d c b a", "c", "a a a b", "d e"]


class Limited:
    """Finds each sentence's number; fails for more than ``fits`` padded tokens."""

    def __init__(self, fits: int) -> None:
        self.fits = fits
        self.asked: list[int] = []

    def __call__(self, batch: SourceBatch) -> list[list[Hypothesis]]:
        self.asked.append(len(batch.sources))
        if len(batch.sources) * (1 + max(map(len, batch.sources))) > self.fits:
            raise MemoryError
        return [[Hypothesis([number], 0.0, 0.0, True)] for number in batch.numbers]


def batch(*lengths: int) -> SourceBatch:
    return SourceBatch(list(range(3, 3 + len(lengths))), [[5] * length for length in lengths])


def found(search: FittingSearch, what: SourceBatch, limited: Limited) -> list[int]:
    return [hypotheses[0].ids[0] for hypotheses in search(what, limited)]


def test_each_sentence_in_its_turn() -> None:
    assert found(FittingSearch(), batch(4, 4, 4, 4, 4), Limited(11)) == [3, 4, 5, 6, 7]


def test_what_did_not_fit_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    search, limited = FittingSearch(), Limited(20)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            found(search, batch(4, 4, 4, 4, 4, 4), limited)
    assert [asked for asked in limited.asked if asked > 4] == [6]
    assert len(caplog.records) == 1


def test_a_sentence_that_does_not_fit_alone_is_named() -> None:
    with pytest.raises(NotEnoughMemoryError, match=r"line 6: .*its 40 pieces .*narrower beam"):
        found(FittingSearch(), batch(4, 4, 40, 4), Limited(20))


def test_constraints_and_prefixes_stay_with_their_sentences() -> None:
    demands = [LineDemands(text=text) for text in "abc"]
    whole = SourceBatch([1, 2, 3], [[4], [5], [6]], [[7], [8], [9]], demands)
    part = SourceBatch([2, 3], [[5], [6]], [[8], [9]], demands[1:])
    assert whole.part(slice(1, None)) == part


def test_translations_do_not_depend_on_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Translator.load(save_tiny_model(tmp_path / "model"), device="cpu") as translator:
        wanted = translator.translate(LINES)
        model = translator.models[0]
        encode = model.encode

        def limited(source: Tensor, mask: Tensor) -> Any:
            if source.numel() > 12:
                raise RuntimeError("CUDA out of memory.")
            return encode(source, mask)

        monkeypatch.setattr(model, "encode", limited)
        assert translator.translate(LINES) == wanted
