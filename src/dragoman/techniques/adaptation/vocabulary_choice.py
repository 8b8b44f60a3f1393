"""Whether an adapted model keeps the vocabulary of its parent, or extends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.core.errors import ConfigError
from dragoman.text.formats import Pair
from dragoman.text.tags import missing_tags
from dragoman.text.vocabularies.extension import extensible
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_needs import vocabulary_needs

VocabularyChoice = Literal["auto", "keep", "extend"]
"""``auto`` extends if that is useful (:mod:`dragoman.text.vocabularies.vocabulary_needs`)."""


@dataclass(frozen=True)
class ChosenVocabulary:
    """The decision and its reasons."""

    extended: Vocabularies | None
    """Vocabularies of the run; None to keep those of the parent.

    Only the new text extends them, as the parent already knew the general text in the mix.
    """
    notes: tuple[str, ...]
    """Notes for the user."""
    lacks_tags: bool = False
    """Whether the parent's vocabularies lack a tag and cannot be kept."""

    def section(self) -> dict[str, Any]:
        """Values of the section ``vocabulary``; empty if the parent's are kept."""
        return {} if self.extended is None else {"size": max(map(len, self.extended))}


def choose_vocabulary(
    choice: VocabularyChoice,
    parent: Vocabularies,
    pairs: Iterable[Pair],
    *,
    tags: Sequence[str] = (),
    general: Iterable[Pair] = (),
    seed: int = 1,
) -> ChosenVocabulary:
    """Decide on the vocabularies of an adapted model.

    Args:
        choice: the user's setting.
        parent: the vocabularies of the model.
        pairs: the new text.
        tags: all tags in front of its sources.
        general: text like the model's training text, for comparison.
        seed: seed of the sample drawn from a large corpus.

    Raises:
        ConfigError: the parent's vocabularies are to be kept, but lack a tag.
        DataError: there is no text.
    """
    source = parent.source
    lacking = missing_tags(tags, source.pieces(source.tags))
    if choice == "keep":
        if lacking:
            raise ConfigError(
                f"--vocabulary keep: the vocabulary of the model has no tag {', '.join(lacking)}, "
                "which the new text needs; choose --vocabulary auto"
            )
        return ChosenVocabulary(None, ())
    if choice == "auto" and not lacking and not all(map(extensible, parent)):
        return ChosenVocabulary(None, ("vocabulary: a fixed list of pieces, kept as it is",))
    config = VocabularyConfig(tags=tuple(lacking))
    needs = vocabulary_needs(
        parent, _weighted(pairs), config, seed=seed, general=_weighted(general)
    )
    notes = tuple(f"vocabulary: {line}" for line in needs.described())
    extends = needs.pieces > 0 and (needs.pays or choice == "extend")
    return ChosenVocabulary(needs.extended if extends else None, notes, bool(lacking))


def _weighted(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, float]]:
    return ((pair, 1.0) for pair in pairs)
