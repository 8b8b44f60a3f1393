"""Settings of minimum Bayes risk decoding.

It compares texts, so :mod:`dragoman.translation.bayes_risk` carries it out.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.evaluation.similarity import Similarity


class BayesRiskConfig(Config):
    """Minimum Bayes risk: the translation that is most similar to samples of the model.

    Eikema and Aziz 2020 (arXiv:2005.10283), section 6; 2022 (arXiv:2108.04718).
    """

    samples: int = Field(ge=2, le=1000)
    """Samples per sentence, with which every candidate is compared; `sampling` sets how they are
    drawn."""
    utility: Similarity = "chrf"
    """Measure of similarity: `chrf`, or sentence `bleu` with the tokenizer 13a, which treats text
    without spaces between words as one word."""
    candidates: Literal["samples", "beam", "both"] = "samples"
    """Candidates to choose from: the `samples` themselves, all hypotheses that `beam` search finds,
    or `both`."""
