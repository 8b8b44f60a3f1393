"""Beam search against the same search written plainly: one sentence, one hypothesis at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.text.vocabulary import BOS, EOS

Build = Callable[..., TranslationModel]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]


def plain_beam_search(
    model: TranslationModel,
    source: tuple[Tensor, Tensor],
    limit: int,
    beam: int,
    alpha: float,
    pieces: range,
) -> list[tuple[list[int], float]]:
    """Outputs and scores, best first.  The whole prefix is read anew for every hypothesis."""
    memory = model.encode(*source)
    unfinished: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[list[int], float]] = []
    while unfinished and len(finished) < beam:
        candidates = []
        for total, ids in unfinished:
            target = torch.tensor([[BOS, *ids]])
            hidden, _ = model.decode(target, memory, model.start(memory))
            scores = model.logits(hidden)[0, -1].log_softmax(-1).tolist()
            allowed = [EOS] if len(ids) == limit else [EOS, *pieces]
            candidates += [(total + scores[piece], [*ids, piece]) for piece in allowed]
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, ids in candidates[:beam]:
            if ids[-1] == EOS:
                finished.append((ids[:-1], total / ((5 + len(ids)) / 6) ** alpha))
        unfinished = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam]
    return sorted(finished, key=lambda output: -output[1])


@pytest.mark.parametrize("width", [2, 3, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_it_finds_what_the_plain_search_finds(
    build: Build, pad: Pad, width: int, alpha: float
) -> None:
    lines = [[5, 6], [7], [4, 8, 9], []]
    config = SearchConfig(beam=width, nbest=width, extra_length=3, length_penalty=alpha)
    for seed in range(5):
        model = build(seed, spread=8.0)  # short and long outputs compete
        found = search(ModelScorer(model), *pad(lines), config)
        for line, hypotheses in zip(lines, found, strict=True):
            limit = len(line) + 3
            plain = plain_beam_search(model, pad([line]), limit, width, alpha, range(4, 13))
            assert [hypothesis.ids for hypothesis in hypotheses] == [
                ids for ids, _ in plain[:width]
            ]
            for hypothesis, (_, score) in zip(hypotheses, plain, strict=False):
                assert hypothesis.score == pytest.approx(score)
