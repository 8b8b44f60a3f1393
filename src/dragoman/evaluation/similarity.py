"""Sentence BLEU and chrF of many texts against many others.

The scores are sacrebleu's.  It compares one pair after the other and counts the n-grams of both
each time; here those of each text are counted once (:mod:`dragoman.evaluation.shared_ngrams`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import EvaluationConfig, build_metric
from dragoman.evaluation.shared_ngrams import Floats, Integers, SharedNgrams, share_ngrams

Similarity = Literal["bleu", "chrf"]


class PairwiseSimilarity:
    """Compares texts with texts.

    Sentence BLEU is smoothed (method 3 of Chen and Cherry 2014, as in sacrebleu) and counts only
    orders of n-grams that a hypothesis has; without that, most short sentences would have a BLEU
    of 0.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """

    def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
        self.metric = metric
        self._sacrebleu: Any = build_metric(metric, config or EvaluationConfig())

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """The scores of hypotheses against references, 0 to 100, ``(hypotheses, references)``.

        Raises:
            DataError: a single text was given in place of a list.
        """
        if isinstance(hypotheses, str) or isinstance(references, str):
            raise DataError("hypotheses and references are lists of texts; put a text into a list")
        numbers: dict[str, int] = {}
        rows = np.array([numbers.setdefault(text, len(numbers)) for text in hypotheses], np.int64)
        columns = np.array([numbers.setdefault(one, len(numbers)) for one in references], np.int64)
        if not len(rows) or not len(columns):
            return np.zeros((len(rows), len(columns)))
        (used_rows, row_of), (used_columns, column_of) = (
            np.unique(used, return_inverse=True) for used in (rows, columns)
        )
        score = self._bleu if self.metric == "bleu" else self._chrf
        scores: Floats = score(list(numbers), used_rows, used_columns)
        return scores[row_of][:, column_of]

    def _chrf(self, texts: list[str], rows: Integers, columns: Integers) -> Floats:
        """chrF, or chrF++ where words count, too (Popović 2015, 2017)."""
        metric = self._sacrebleu
        if metric.lowercase:
            texts = [text.lower() for text in texts]
        ngrams = [_of_characters(texts, metric.char_order, rows, columns)]
        if metric.word_order:
            # How sacrebleu parts words from punctuation is known to it alone.
            words = [metric._remove_punctuation(text) for text in texts]
            ngrams.append(_of_words(words, metric.word_order, rows, columns))
        totals = np.concatenate([one.totals for one in ngrams])
        shared = np.concatenate([one.shared for one in ngrams])
        return _f_scores(totals[:, rows, None], totals[:, None, columns], shared, metric.beta)

    def _bleu(self, texts: list[str], rows: Integers, columns: Integers) -> Floats:
        """Sentence BLEU."""
        metric = self._sacrebleu
        if metric.lowercase:
            texts = [text.lower() for text in texts]
        words = [metric.tokenizer(text.rstrip()).split() for text in texts]
        ngrams = _of_words(words, metric.max_ngram_order, rows, columns)
        lengths = ngrams.totals[0]
        return _bleu_scores(
            ngrams.totals[:, rows, None], ngrams.shared, lengths[rows, None], lengths[columns]
        )


def _f_scores(hypothesis: Integers, reference: Integers, shared: Floats, beta: float) -> Floats:
    """The chrF from counts of n-grams; axis 0 is their length.

    Args:
        hypothesis: n-grams of hypotheses, ``(orders, hypotheses, 1)``.
        reference: those of references, ``(orders, 1, references)``.
        shared: those that they share, ``(orders, hypotheses, references)``.
        beta: how much more recall counts than precision.
    """
    counts = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(counts.sum(0), 1)
    # Without n-grams of a length on either side nothing is shared, which adds nothing.
    precision = (shared / np.maximum(hypothesis, 1)).sum(0) / orders
    recall = (shared / np.maximum(reference, 1)).sum(0) / orders
    factor = beta**2
    weighted = factor * precision + recall
    scores = (1 + factor) * precision * recall / np.where(weighted > 0, weighted, 1)
    return 100 * np.asarray(scores)


def _bleu_scores(
    totals: Integers, shared: Floats, lengths: Integers, reference_lengths: Integers
) -> Floats:
    """Sentence BLEU from counts of n-grams; axis 0 is their length.

    Args:
        totals: n-grams of hypotheses, ``(orders, hypotheses, 1)``.
        shared: those that they share, ``(orders, hypotheses, references)``.
        lengths: of hypotheses, ``(hypotheses, 1)``.
        reference_lengths: ``(references,)``.
    """
    there = totals > 0
    missed = there & (shared == 0)
    # The first order without a match counts as half a match, the second as a quarter, ...
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=0), shared)
    precisions = np.where(there, 100 * smoothed / np.maximum(totals, 1), 1.0)
    logarithms = np.log(precisions).sum(0) / np.maximum(there.sum(0), 1)
    too_short = np.maximum(reference_lengths / np.maximum(lengths, 1), 1)
    scores = np.exp(1 - too_short) * np.exp(logarithms)
    return np.where(shared.any(0), scores, 0.0)


def _of_characters(
    texts: list[str], orders: int, rows: Integers, columns: Integers
) -> SharedNgrams:
    """N-grams of characters, which leave out space."""
    bare = ["".join(text.split()) for text in texts]
    points = np.frombuffer("".join(bare).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = np.array([len(text) for text in bare], dtype=np.int64)
    return share_ngrams(points.astype(np.int64), lengths, orders, rows, columns)


def _of_words(
    texts: list[list[str]], orders: int, rows: Integers, columns: Integers
) -> SharedNgrams:
    """N-grams of words."""
    numbers: dict[str, int] = {}
    symbols = [numbers.setdefault(word, len(numbers)) for words in texts for word in words]
    lengths = np.array([len(words) for words in texts], dtype=np.int64)
    return share_ngrams(np.array(symbols, dtype=np.int64), lengths, orders, rows, columns)


class Closest:
    """Chooses the translation that is most similar to a reference, by sentence BLEU or chrF.

    Training a student on it is Kim & Rush's sequence-level interpolation (2016,
    arXiv:1606.07947, section 4.3).
    """

    def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
        config = config or EvaluationConfig()
        self._similarity = PairwiseSimilarity(metric, config)
        settings = []
        if metric == "bleu" and config.bleu_tokenize != "13a":
            settings.append(f"tokenize {config.bleu_tokenize}")
        if config.lowercase:
            settings.append("lowercase")
        if metric == "chrf" and config.chrf_word_order:
            settings.append(f"word order {config.chrf_word_order}")
        self.name = f"{metric} ({', '.join(settings)})" if settings else str(metric)
        """The measure, with its settings where they are not the usual ones."""

    def __call__(self, hypotheses: Sequence[str], reference: str) -> int:
        """The place of the hypothesis that is most similar; of equals, the first."""
        return int(self._similarity(hypotheses, [reference])[:, 0].argmax())
