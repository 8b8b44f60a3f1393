"""Minimum Bayes risk: choosing the translation that is most similar to samples of the model.

Eikema and Aziz 2020, "Is MAP Decoding All You Need?" (arXiv:2005.10283), section 6, and 2022
(arXiv:2108.04718).  The expected utility of a candidate is its mean similarity to samples of the
model, a repeated sample counting as often as it was drawn.  Pieces of low probability are not
drawn (Hewitt et al. 2022; Freitag et al. 2023, arXiv:2305.09860).

Expected utilities are exact, over all pairs of candidates and samples, because drawing the samples
takes far longer than comparing them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import tee
from typing import Any

import numpy as np

from dragoman.core.errors import ConfigError
from dragoman.evaluation.similarity import PairwiseSimilarity
from dragoman.search import SamplingConfig, SearchConfig
from dragoman.search.tree_grammar import TreeSymbols
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.line_stream import Line, TranslatedLine
from dragoman.translation.outputs import Translation

EPSILON = 0.02
"""Default minimum probability of pieces that are drawn."""

Progress = Callable[[int], object]
Search = Callable[[Iterator[Line], Progress, SearchConfig], Iterator[TranslatedLine]]
"""Translates lines as :meth:`LineStream.run` does, with the settings of the search."""


def least_risk(
    search: Search, lines: Iterator[Line], progress: Progress, config: SearchConfig
) -> Iterator[TranslatedLine]:
    """Each line with its best translations by expected utility, in order.

    If reading ``lines`` fails, the lines before the failure are translated first.
    """
    assert config.mbr is not None, "whoever calls has looked"
    similarity, kind = PairwiseSimilarity(config.mbr.utility), config.mbr.candidates

    def chosen(
        line: Line, candidates: Sequence[Translation], samples: Sequence[Translation]
    ) -> TranslatedLine:
        if candidates[0].refused is not None:
            return TranslatedLine(line, [candidates[0]])
        ranked = by_expected_utility(candidates, samples, similarity)
        return TranslatedLine(line, ranked[: config.nbest])

    sampled, searched = sampling_settings(config), beam_settings(config)
    if kind == "samples":
        for line, samples in search(lines, progress, sampled):
            yield chosen(line, samples, samples)
        return
    once, again = tee(lines)
    both = zip(
        search(once, lambda _: None, sampled), search(again, progress, searched), strict=True
    )
    for (line, samples), (_, hypotheses) in both:
        candidates = hypotheses if kind == "beam" else [*hypotheses, *samples]
        yield chosen(line, candidates, samples)


def by_expected_utility(
    candidates: Sequence[Translation], samples: Sequence[Translation], utility: PairwiseSimilarity
) -> list[Translation]:
    """Candidates by their mean similarity to samples, best first, each text once.

    Ties go to the likelier candidate.  If a text has several spellings in pieces, the likeliest is
    returned.

    Their score is the expected utility, 0 to 100.  Samples are repeated as often as they were
    drawn.
    """
    texts: dict[str, Translation] = {}
    for one in candidates:
        if one.text not in texts or one.log_probability > texts[one.text].log_probability:
            texts[one.text] = one
    # The order of sums must not depend on that of the samples.
    drawn = sorted(Counter(one.text for one in samples).items())
    shares = np.array([count for _, count in drawn]) / len(samples)
    expected = utility(list(texts), [text for text, _ in drawn]) @ shares
    ranked = [
        replace(one, score=float(score))
        for one, score in zip(texts.values(), expected, strict=True)
    ]
    # Rounded, so that equal utilities are equal however they were summed.
    return sorted(ranked, key=lambda one: (-round(one.score, 9), -one.log_probability, one.text))


def sampling_settings(config: SearchConfig) -> SearchConfig:
    """Settings for drawing the samples of a search with ``mbr``."""
    assert config.mbr is not None, "whoever calls has looked"
    drawn = config.sampling or SamplingConfig()
    if not drawn.filters():
        drawn = drawn.model_copy(update={"epsilon": EPSILON})
    changes: dict[str, Any] = {"mbr": None, "sampling": drawn, "nbest": config.mbr.samples}
    return config.model_copy(update=changes)


def beam_settings(config: SearchConfig) -> SearchConfig:
    """Settings for searching candidates instead of drawing them: all hypotheses of the beam."""
    return config.model_copy(update={"mbr": None, "sampling": None, "nbest": config.beam})


def check_compared(vocabularies: Vocabularies, reads_source: bool) -> None:
    """Check that outputs of a model can be compared as translations.

    Raises:
        ConfigError: the model is a language model or a parser.
    """
    if not reads_source:
        raise ConfigError(
            "mbr: a language model translates nothing, and its samples have no common meaning; "
            "leave out mbr"
        )
    try:
        TreeSymbols.of(vocabularies)
    except ConfigError:
        return
    raise ConfigError(
        "mbr: this model writes trees, which cannot be compared as text; leave it out"
    )
