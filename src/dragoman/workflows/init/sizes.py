"""The models to choose from, and the vocabulary of a text, by the amount of text.

The bounds come from two sources.  In the runs in ``docs/results.md``, on Multi30k (29,000 pairs,
0.4 million target tokens per epoch), two layers are as good as four, and twice the width is no
better after training on ten million tokens.  The paper's base model was trained on 4.5 million
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text.scripts import overlap
from dragoman.text.vocabularies.vocabulary import VocabularyConfig
from dragoman.workflows.init.look import Facts, Side


@dataclass(frozen=True)
class Size:
    """A Transformer, and the text and training from which it pays off."""

    name: str
    layers: int
    """Layers of the encoder, and of the decoder."""
    d_model: int
    d_ff: int
    heads: int
    peak_learning_rate: float
    most_step_tokens: int
    least_text: float
    """Minimum target tokens per epoch; with less text the model only memorises."""
    least_learned: float
    """Target tokens over all epochs from which it is better than the next smaller model."""


SIZES = (
    Size("tiny", 2, 128, 256, 4, 0.003, 4000, 0, 0),
    Size("small", 4, 128, 512, 4, 0.003, 8000, 50_000, 8e6),
    Size("medium", 4, 256, 1024, 4, 0.0015, 8000, 1e6, 4e7),
    Size("base", 6, 512, 2048, 8, 0.0007, 25_000, 1.5e7, 4e8),
)
"""Smallest first; the last one is the paper's base model."""

_SIZE_STEPS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000)
_SMALLEST = (400, 300)  # bytes included; for short texts that repeat few words
# A line through recipes that work: 2,000 pieces for 0.2 million characters (Home Assistant,
# en-ko), 8,000 for 1.8 million (Multi30k).  It reaches the 32,000 of large corpora at 20 million.
_PIECES, _CHARACTERS, _GROWTH = 8000, 1.8e6, 0.6
_BYTES = 256
_SPECIAL = 4
MANY_CHARACTERS = 300
"""Minimum of different characters for which bytes spell those that the text lacks; an alphabet with
punctuation has fewer."""
_VERY_MANY_CHARACTERS = 2000
_SHARED = 0.5


def shares_scripts(facts: Facts) -> bool:
    """Whether both languages are mostly written in the same script."""
    return overlap(facts.source.scripts, facts.target.scripts) >= _SHARED


def plan_vocabulary(facts: Facts, *, is_lacking: bool = False) -> VocabularyConfig:
    """The vocabulary for a text; it may still be larger than a small text allows.

    Args:
        facts: of the text.
        is_lacking: whether the text lacks characters that are to be translated.
    """
    sides = (facts.source, facts.target)
    different = max(side.characters for side in sides)
    byte_fallback = is_lacking or different > MANY_CHARACTERS
    length = sum(side.length for side in sides) / len(sides)
    wanted = _PIECES * (length / _CHARACTERS) ** _GROWTH
    # Room for pieces of several characters in addition to single characters.
    least = 1.5 * different + _SPECIAL + (_BYTES if byte_fallback else 0)
    size = next((step for step in _SIZE_STEPS if step >= wanted * 0.8), _SIZE_STEPS[-1])
    size = next((step for step in _SIZE_STEPS if step >= max(size, least)), _SIZE_STEPS[-1])
    return VocabularyConfig(
        size=size,
        joint=shares_scripts(facts),
        byte_fallback=byte_fallback,
        character_coverage=0.9995 if different > _VERY_MANY_CHARACTERS else 1.0,
    )


def smaller_vocabularies(config: VocabularyConfig) -> list[VocabularyConfig]:
    """``config``, and alternatives for a text that is too small for it."""
    sizes = [step for step in reversed(_SIZE_STEPS) if step <= config.size]
    # Few pieces may not cover all characters: the rare ones are then spelt in bytes.
    in_bytes = {"byte_fallback": True, "character_coverage": 0.98}
    last = [{"size": step, **in_bytes} for step in (*sizes, *_SMALLEST)]
    changes = [{"size": step} for step in sizes] + last
    return [config.model_copy(update=change) for change in changes]


def script_names(side: Side) -> str:
    """The scripts with at least a tenth of the letters of a side, in words."""
    found = [name for name, share in side.scripts.items() if share >= 0.1]
    return " and ".join(found) or "no letters"
