"""A vocabulary of subword-nmt, whose pieces do not mark spaces."""

from __future__ import annotations

from dragoman.text.vocabularies.listed_vocabulary import SPECIAL, ListedVocabulary, PieceList
from dragoman.text.vocabularies.splitting import SubwordNmt


def listed(*pieces: str) -> ListedVocabulary:
    """Whose words stay whole, so that no package is needed."""
    return ListedVocabulary(PieceList(pieces=(*SPECIAL, *pieces), splitting=SubwordNmt()))
