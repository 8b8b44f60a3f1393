"""The choice among sacrebleu's tokenizers for a language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation.metrics import BleuTokenizer, EvaluationConfig, build_metric
from dragoman.evaluation.sacrebleu_metrics import installing

# Scripts without spaces between words, or with words too inflected to be counted as a whole.
_BY_CHARACTERS = ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
_USUAL: dict[str, BleuTokenizer] = {"ja": "ja-mecab", "ko": "ko-mecab", "zh": "zh"}
_BY_SPACES = ("13a", "intl")
_A_SHARE = 0.3  # of the letters: the rest may be names and terms in another script


def usual_tokenizer(language: str) -> BleuTokenizer:
    """The tokenizer with which sacrebleu scores a test set in a language, such as ``zh``."""
    return _USUAL.get(language, "13a")


def suitable_tokenizers(scripts: Mapping[str, float]) -> tuple[BleuTokenizer, ...]:
    """Tokenizers that make BLEU meaningful, the best first; empty if ``13a`` does.

    ``13a`` splits at spaces and punctuation.  Without spaces it takes a whole sentence for one
    word, and with Korean endings hardly any word matches: BLEU is near zero however good the
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


def tokenizer_hint(
    tokenizer: BleuTokenizer, scripts: Mapping[str, float], setting: str
) -> str | None:
    """Why BLEU with a tokenizer says little about text in these scripts; None if it does not.

    Args:
        tokenizer: the tokenizer of BLEU.
        scripts: shares of the scripts that the references are written in.
        setting: the option or key that chooses one, such as ``--tokenize {}``.
    """
    wanted = suitable_tokenizers(scripts) if tokenizer in _BY_SPACES else ()
    if not wanted:
        return None
    best = best_tokenizer(scripts)
    others = "" if best == wanted[0] else f"; {wanted[0]} is usual, after {installing(wanted[0])}"
    return (
        f"BLEU with {setting.format(tokenizer)} finds hardly any words in {next(iter(scripts))} "
        f"script, so it is low even for good translations; set {setting.format(best)}{others}"
    )


@cache
def is_installed(tokenizer: BleuTokenizer) -> bool:
    """Whether everything that this tokenizer needs is installed."""
    try:
        build_metric("bleu", EvaluationConfig(bleu_tokenize=tokenizer))
    except MissingExtraError:
        return False
    return True


def best_tokenizer(scripts: Mapping[str, float]) -> BleuTokenizer:
    """The best installed tokenizer for a target in these scripts."""
    return next((one for one in suitable_tokenizers(scripts) if is_installed(one)), "13a")
