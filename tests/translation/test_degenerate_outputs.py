"""Degenerate outputs on their way through engines and translators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from table_scorer import VOCABULARY, PositionScorer, TableScorer
from tiny_model import save_tiny_model

from dragoman import load
from dragoman.core.repetition import loop
from dragoman.search import SearchConfig
from dragoman.text.vocabularies import EOS
from dragoman.translation.engines.engine import SourceBatch, TorchEngine, bounds_of
from dragoman.translation.id_translation import search_of
from dragoman.translation.outputs import Translation
from dragoman.translation.pivot import joined

BATCH = SourceBatch([0, 1], [[4, 5], [6]])


def looping() -> TableScorer:
    """Writes 5 for ever, unless it may not."""
    table = torch.full((1, VOCABULARY), 1e-3)
    table[0, [5, EOS]] = torch.tensor([0.9, 0.05])
    return TableScorer(table.log())


def found(scorer: TableScorer, **settings: Any) -> list[tuple[list[int], tuple[str, ...]]]:
    config = SearchConfig(beam=1, **settings)
    ((_, hypotheses),) = TorchEngine(scorer).search([BATCH], config)
    return [(one[0].ids, one[0].faults) for one in hypotheses]


def test_loops_are_kept_and_named_or_searched_for_again() -> None:
    for ids, faults in found(looping(), degenerate="keep"):
        assert loop(ids) > 9 and faults == ("repetition",)
    for ids, faults in found(looping()):
        assert ids and not loop(ids) and faults == ()
    both = found(looping(), degenerate="keep", length_ratio=1.0)
    assert [faults for _, faults in both] == [("repetition", "length")] * 2
    for ids, faults in found(looping(), sampling={"seed": 1}):
        assert faults == (("repetition",) if loop(ids) else ()), "what is drawn is only named"


def test_too_long_is_told_by_the_source_and_by_the_ratio() -> None:
    chain = [{4 + place % 3: 0.7, 4 + (place // 3) % 3: 0.3} for place in range(20)]
    scorer = PositionScorer(*chain, {EOS: 1.0})
    limits = [bound.pieces for bound in bounds_of(BATCH, SearchConfig(length_ratio=2.0))]
    assert limits == [3 * 2 * 3 + 5, 3 * 2 * 2 + 5]
    kept = found(scorer, degenerate="keep", length_ratio=2.0)
    assert [("length" in faults) for _, faults in kept] == [False, True]
    assert "length" not in found(scorer, degenerate="keep")[1][1], "no ratio is known"
    assert "length" not in found(scorer, degenerate="keep", length_ratio=2.0, too_long=0.0)[1][1]


def test_other_sentences_of_the_batch_stay_as_they_are() -> None:
    class OneLoops(TableScorer):
        """Loops where the source begins with 4."""

        def step(self, target, memory, state):  # type: ignore[no-untyped-def]
            scores, state = super().step(target, memory, state)
            scores = scores.clone()
            scores[memory.repeat_interleave(len(target) // len(memory), 0)[:, 0] != 4] = torch.log(
                torch.tensor([0, 0, 0.1, 0.7, 0, 0, 0.2, 0])
            )
            return scores, state

    table = looping().table
    (first, _), (second, faults) = found(OneLoops(table))
    assert not loop(first)
    assert [(second, faults)] == found(OneLoops(table), degenerate="keep")[1:]


def test_training_spends_nothing_on_it() -> None:
    from dragoman.text.transforms import SourceByModelConfig

    assert search_of(SourceByModelConfig(), 1).degenerate == "keep"


def test_translations_say_so(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path, extra_length=30, degenerate="keep", length_ratio=0.1)
    lines = ["a b c", "e", "", "d e a b"]
    with load(str(model)) as translator:
        expected = translator.translate_nbest(lines)
        faults = [one[0].faults for one in expected]
        assert faults == [("repetition", "length"), (), (), ("repetition", "length")]
        avoided = translator.translate_nbest(lines, degenerate="avoid")
    for before, after in zip(expected, avoided, strict=True):
        assert after[0].faults == ()
        assert (before == after) == (not before[0].faults)


def test_faults_of_either_leg_are_those_of_a_translation_through_a_pivot() -> None:
    one = Translation("a", -1.0, -1.0, ["a"], ended=True)
    pivot = replace(one, faults=("length",))
    (found,) = joined([pivot], [[replace(one, faults=("repetition",))]])
    assert found.faults == ("length", "repetition")


@pytest.mark.parametrize("beam", [1, 3])
def test_ctranslate2_searches_again_too(tmp_path: Path, beam: int) -> None:
    pytest.importorskip("ctranslate2")
    model = save_tiny_model(tmp_path, extra_length=30, length_ratio=0.5)
    lines = ["a b c", "e", "d e a b"]
    with load(str(model), engine="ctranslate2") as translator:
        kept = translator.translate_nbest(lines, beam=beam, degenerate="keep")
        avoided = translator.translate_nbest(lines, beam=beam)
    assert any(one[0].faults for one in kept)
    assert sum(len(one[0].faults) for one in avoided) < sum(len(one[0].faults) for one in kept)
