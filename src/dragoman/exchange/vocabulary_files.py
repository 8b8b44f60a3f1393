"""Pieces of an exported model: the sentencepiece models of its text, and pieces never put out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dragoman.saved.saved_config import SavedModel
from dragoman.search import SearchConfig
from dragoman.text.vocabularies import BOS, PAD, UNK, Vocabulary
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.splitting import SentencePieces

NOT_NORMALISED = (
    "Text is not normalised before it is split. Do it first if yours may need it: replace no-break "
    "spaces and the like by spaces, remove control characters and characters that nobody sees, and "
    "compose letters (Unicode NFC), as dragoman.text.normalization.normalize does."
)
"""How programs differ that split text with sentencepiece alone."""


def lowers_case(vocabulary: Vocabulary) -> bool:
    """Whether text is put in lower case before a sentencepiece model, which does not, splits it."""
    if not isinstance(vocabulary, ListedVocabulary):
        return False
    splitting = vocabulary.content.splitting
    return isinstance(splitting, SentencePieces) and splitting.lowercase


def never_written(saved: SavedModel) -> list[int]:
    """Ids of target pieces that Dragoman's search never puts out: special pieces and tags."""
    search = SearchConfig.model_validate(saved.search)
    unknown = () if search.allow_unknown else (UNK,)
    tags = () if search.allow_tags else saved.vocabularies.target.tags
    return [PAD, BOS, *unknown, *tags]


def write_vocabularies(
    saved: SavedModel, directory: Path, names: Sequence[str], *, with_ids: bool
) -> tuple[str, ...]:
    """Write the sentencepiece models of both sides.

    Args:
        saved: the model.
        directory: to write them into.
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
        if (model := vocabulary.sentencepiece) is None:
            notes.append(
                f"There is no {name}: this vocabulary is of subword-nmt, and text is split by that "
                "program, with the codes in the model's own directory."
            )
        else:
            (directory / name).write_bytes(model)
        if with_ids and not isinstance(vocabulary, SentencePieceVocabulary):
            pieces = vocabulary.pieces(range(len(vocabulary)))
            ids = {piece: number for number, piece in enumerate(pieces)}
            text = json.dumps(ids, ensure_ascii=False) + "\n"
            (directory / f"{name}.json").write_text(text, encoding="utf-8")
            notes.append(f"Ids are those of {name}.json, by piece, not those of {name}.")
    return tuple(dict.fromkeys(notes))
