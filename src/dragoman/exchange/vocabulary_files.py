"""Models of sentencepiece that split text for an exported model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.splitting import SentencePieces
from dragoman.text.vocabularies.vocabulary import Vocabulary

NOT_NORMALISED = (
    "Text is not normalised before it is split. Do it first if yours may need it: replace no-break "
    "spaces and the like by spaces, remove control characters and characters that nobody sees, and "
    "compose letters (Unicode NFC), as dragoman.text.normalization.normalize does."
)
"""How programs differ that split text with sentencepiece alone."""


def sentencepiece_model(vocabulary: Vocabulary) -> bytes | None:
    """The sentencepiece model that splits text; None if another program does."""
    if isinstance(vocabulary, SentencePieceVocabulary):
        return vocabulary.serialized
    assert isinstance(vocabulary, ListedVocabulary), "there are two kinds"
    splitting = vocabulary.content.splitting
    return splitting.serialized if isinstance(splitting, SentencePieces) else None


def lowers_case(vocabulary: Vocabulary) -> bool:
    """Whether text is put in lower case before a sentencepiece model, which does not, splits it."""
    if not isinstance(vocabulary, ListedVocabulary):
        return False
    splitting = vocabulary.content.splitting
    return isinstance(splitting, SentencePieces) and splitting.lowercase


def write_vocabularies(
    saved: SavedModel, directory: Path, names: Sequence[str], *, with_ids: bool
) -> tuple[str, ...]:
    """Write the sentencepiece models of both sides.

    Args:
        saved: the model.
        directory: where to write them.
        names: files of the source and the target, which may be the same.
        with_ids: whether to write ids by pieces as ``NAME.json``, if they are not those of the
            sentencepiece model.

    Returns:
        Differences, a sentence each.
    """
    notes = []
    if lowers_case(saved.vocabularies.source):
        notes.append("Sources are not put in lower case there: do it before they are split.")
    for name, vocabulary in zip(names, saved.vocabularies, strict=True):
        model = sentencepiece_model(vocabulary)
        if model is None:
            notes.append(
                f"There is no {name}: this vocabulary is of subword-nmt, and text is split by that "
                "program, with the codes in the model's own directory."
            )
        else:
            (directory / name).write_bytes(model)
        if with_ids and not isinstance(vocabulary, SentencePieceVocabulary):
            pieces = vocabulary.pieces(range(len(vocabulary)))
            table = json.dumps({piece: i for i, piece in enumerate(pieces)}, ensure_ascii=False)
            (directory / f"{name}.json").write_text(table + "\n", encoding="utf-8")
            notes.append(f"Ids are those of {name}.json, by piece, not those of {name}.")
    return tuple(dict.fromkeys(notes))
