"""Which of sacrebleu's tokenizers suits a language, and whether it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation.metrics import BleuTokenizer, EvaluationConfig, build_metric

# Scripts whose words no space parts, or whose words change too much for whole ones to be counted.
_BY_CHARACTERS = ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
_A_SHARE = 0.3  # of the letters, which leaves room for names and terms in another script


def suitable_tokenizers(scripts: Mapping[str, float]) -> tuple[BleuTokenizer, ...]:
    """Tokenizers with which BLEU says something, the best first; empty where ``13a`` does.

    ``13a`` parts words at spaces and punctuation.  Without spaces a whole sentence is one word to
    it, and with Korean endings hardly a word is right; BLEU is near zero however good the
    translations are.

    Args:
        scripts: shares of the scripts that the target is written in, by their Unicode names.
    """

    def share(*names: str) -> float:
        return sum(scripts.get(name, 0.0) for name in names)

    if share("Hiragana", "Katakana", "Han") >= _A_SHARE:
        is_japanese = share("Hiragana", "Katakana") >= 0.05
        return ("ja-mecab", "char") if is_japanese else ("zh", "char")
    if share("Hangul") >= _A_SHARE:
        return ("ko-mecab", "char")
    if share(*_BY_CHARACTERS) >= _A_SHARE:
        return ("char",)
    return ()


@cache
def is_installed(tokenizer: BleuTokenizer) -> bool:
    """Whether what this tokenizer needs is there."""
    try:
        build_metric("bleu", EvaluationConfig(bleu_tokenize=tokenizer))
    except MissingExtraError:
        return False
    return True


def best_tokenizer(scripts: Mapping[str, float]) -> BleuTokenizer:
    """The best one for a target in these scripts that is installed."""
    return next((one for one in suitable_tokenizers(scripts) if is_installed(one)), "13a")
