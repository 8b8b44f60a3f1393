"""Rewards of outputs in the training objective of expected risk, from 0 to 1.

GLEU is the reward of Wu et al. 2016, "Google's Neural Machine Translation System"
(arXiv:1609.08144), section 5: of all n-grams of one to four words, the lesser of precision and
recall.  The others are sentence BLEU and chrF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from dragoman.evaluation.metrics import EvaluationConfig, build_metric
from dragoman.evaluation.shared_ngrams import share_ngrams
from dragoman.evaluation.similarity import PairwiseSimilarity

Reward = Literal["bleu", "chrf", "gleu"]

_GLEU_ORDERS = 4


class SentenceReward:
    """Compares outputs with a reference; GLEU is of the words of BLEU's tokenizer.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """

    def __init__(self, reward: Reward, config: EvaluationConfig | None = None) -> None:
        config = config or EvaluationConfig()
        self._similarity = None if reward == "gleu" else PairwiseSimilarity(reward, config)
        self._bleu: Any = build_metric("bleu", config) if reward == "gleu" else None

    def __call__(self, outputs: Sequence[str], reference: str) -> list[float]:
        """The reward of each output."""
        if self._similarity is None:
            return self._gleu(outputs, reference)
        found: list[float] = (self._similarity(outputs, [reference])[:, 0] / 100).tolist()
        return found

    def _gleu(self, outputs: Sequence[str], reference: str) -> list[float]:
        numbers: dict[str, int] = {}
        texts = [self._words(text) for text in (*outputs, reference)]
        symbols = [numbers.setdefault(word, len(numbers)) for words in texts for word in words]
        ngrams = share_ngrams(
            np.array(symbols, dtype=np.int64),
            np.array([len(words) for words in texts], dtype=np.int64),
            _GLEU_ORDERS,
            range(len(outputs)),
            [len(outputs)],
        )
        shared = ngrams.shared.sum(0)[:, 0]  # (outputs,)
        totals = ngrams.totals.sum(0)  # (outputs + 1,)
        # The larger total gives the lesser of precision and recall.
        found: list[float] = (shared / np.maximum(totals[:-1], max(totals[-1], 1))).tolist()
        return found

    def _words(self, text: str) -> list[str]:
        text = text.lower() if self._bleu.lowercase else text
        words: list[str] = self._bleu.tokenizer(text.rstrip()).split()
        return words
