"""What a run decides when it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import experiment
from stores import write_store

from dragoman.core.config import parse
from dragoman.recipe import ExperimentConfig
from dragoman.run.decisions import with_length_ratio
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus_part import CorpusPart

PAIRS = {"path": "train.tsv", "source": "en", "target": "de"}
ROWS = [([5] * 3, [6] * 3)] * 2 + [([4], [6] * 9)] * 4


def config(*parts: dict[str, Any]) -> ExperimentConfig:
    """A recipe of these parts, some of which would need others beside them."""
    whole = parse(ExperimentConfig, experiment(), "tiny.yaml")
    train = tuple(parse(CorpusPart, part, "a part") for part in parts)
    return whole.model_copy(update={"data": whole.data.model_copy(update={"train": train})})


def alone(*transforms: dict[str, Any]) -> dict[str, Any]:
    return {"target": "mono.de", "transforms": list(transforms)}


@pytest.mark.parametrize(
    "wordless",
    [
        alone({"kind": "dummy_source"}),
        alone({"kind": "dummy_source", "cut_off": True}),
        alone({"kind": "back_translation"}),
        alone({"kind": "case", "to": "lower", "sides": "target", "share": 0.5}, {"kind": "copy"}),
    ],
)
def test_the_usual_length_is_that_of_sources_with_words(
    wordless: dict[str, Any], tmp_path: Path
) -> None:
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = config(PAIRS, wordless)
    assert with_length_ratio(begun, store).search.length_ratio == 1.0
    begun = config(wordless, wordless)
    assert with_length_ratio(begun, store) is begun


def test_copied_text_has_words(tmp_path: Path) -> None:
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = config(PAIRS, alone({"kind": "copy"}))
    assert with_length_ratio(begun, store).search.length_ratio == 5.0


@pytest.mark.parametrize("target", [False, True])
def test_sources_with_context_of_their_own_have_no_usual_length(
    target: bool, tmp_path: Path
) -> None:
    """What is usual behind five sentences would cut the translation of one that stands alone."""
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = config(PAIRS, PAIRS)
    context = ContextConfig(sentences=5, target=target)
    begun = begun.model_copy(update={"data": begun.data.model_copy(update={"context": context})})
    expected = 5.0 if target else None
    assert with_length_ratio(begun, store).search.length_ratio == expected
