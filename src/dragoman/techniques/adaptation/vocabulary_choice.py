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
"""``auto`` extends where that pays (:mod:`dragoman.text.vocabularies.vocabulary_needs`)."""


@dataclass(frozen=True)
class ChosenVocabulary:
    """What was decided, and why."""

    extended: Vocabularies | None
    """Vocabularies that the run is to have; None to keep those of the parent.

    They are extended by the new text alone: that of the general text, with which it is mixed, was
    known before.
    """
    notes: tuple[str, ...]
    """Lines for people."""
    lacks_tags: bool = False
    """Whether those of the parent lack a tag, and cannot be kept."""

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
        choice: what the user asks for.
        parent: the vocabularies of the model.
        pairs: the new text.
        tags: all that are put in front of its sources.
        general: text of the kind that the model knows, to compare with.
        seed: seed of the sample drawn from a large corpus.

    Raises:
        ConfigError: the parent's are to be kept, and lack a tag.
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
