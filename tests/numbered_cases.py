"""Models of toolkits that were asked with text: ids, logits and texts of ``expected.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from imported_models import built, expected, logits

from dragoman.exchange.interface import ForeignModel
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.translator import Translator

Names = Mapping[str, int]
"""Their number of each of our pieces; a piece that they do not have is left out."""


def cases(folder: Path) -> list[dict[str, Any]]:
    """Text, ids of source and output, logits of its first positions, and the output as text."""
    found: list[dict[str, Any]] = expected(folder)["cases"]
    return found


def source_ids(found: ForeignModel, text: str, names: Names) -> list[int]:
    """Their ids of a text as we split it."""
    source = found.vocabularies.source
    return [names[piece] for piece in source.pieces([*source.encode(text), EOS])]


def largest_gap(found: ForeignModel, folder: Path, source: Names, target: Names) -> float:
    """The largest difference of a logit; every position is decoded after their own output."""
    model, vocabularies = built(found), found.vocabularies
    ours = {source[piece]: i for i, piece in pieces(vocabularies.source) if piece in source}
    written = {target[piece]: i for i, piece in pieces(vocabularies.target) if piece in target}
    columns = sorted(written)
    gaps = []
    for case in cases(folder):
        outputs = [written[i] for i in case["target"][:-1]]
        scores = logits(model, [ours[i] for i in case["source"][:-1]], outputs)
        theirs = torch.tensor(case["logits"])
        assert theirs.shape[1] == len(columns), "all of theirs are compared"
        there = scores[: len(theirs), [written[i] for i in columns]]
        gaps.append(float((there - theirs).abs().max()))
    return max(gaps)


def pieces(vocabulary: Any) -> list[tuple[int, str]]:
    """Ids and pieces; not the symbol that outputs begin with, unless it is one of theirs."""
    return list(enumerate(vocabulary.pieces(range(len(vocabulary)))))


def same_texts(model: Path, folder: Path) -> int:
    """How many of their greedy translations are ours; all must be that ended in time."""
    translator = Translator.load(model, device="cpu")
    count = 0
    for case in cases(folder):
        (text,) = translator.translate(
            [case["text"]], beam=1, degenerate="keep", maximum_length=len(case["target"]) + 5
        )
        if case["target"][-1] in end_ids(case):
            assert text == case["translation"]
            count += 1
    return count


def end_ids(case: Mapping[str, Any]) -> set[int]:
    """The number of their end symbol, which also ends the source."""
    return {case["source"][-1]}


def starts_silently(found: ForeignModel) -> bool:
    """Whether the symbol that outputs begin with is never put out."""
    return bool(found.weights["output.bias"][BOS] < -1000)
