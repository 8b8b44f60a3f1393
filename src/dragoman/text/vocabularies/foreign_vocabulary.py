"""Vocabularies of other toolkits as ours: their pieces in their order, behind our special ones.

The importers in :mod:`dragoman.exchange` read the files and pass their content to this module. A
:class:`Numbered` has the row of the foreign embeddings for each of our pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import sentencepiece
from pydantic import ValidationError

from dragoman.core.errors import DataError, MissingExtraError
from dragoman.text.tags import is_tag
from dragoman.text.vocabularies.listed_vocabulary import SPECIAL, ListedVocabulary, PieceList
from dragoman.text.vocabularies.piece_merges import merged_through
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.splitting import SentencePieces, SubwordNmt
from dragoman.text.vocabularies.vocabulary import EOS, UNKNOWN_SURFACE, Vocabulary

_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # sentencepiece's types of pieces
_BPE = 2  # sentencepiece's type of a model
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_NO_TEXT = re.compile("[\ud800-\udfff]")
_WRITTEN = "#version: 0.2"  # in this format, the last piece of a word marks its end


class Special(NamedTuple):
    """A toolkit's names of the four special pieces; None for missing ones."""

    pad: str | None
    unknown: str
    begin: str | None
    """The first piece of outputs, which may be the piece that ends them."""
    end: str | None


@dataclass(frozen=True)
class Numbered:
    """A vocabulary, and the toolkit's ids of its pieces."""

    vocabulary: Vocabulary
    rows: tuple[int | None, ...]
    """Foreign id of each of our pieces; None for a special one that the toolkit lacks."""


def sentencepiece_vocabulary(model: bytes, where: str) -> Numbered:
    """A sentencepiece model whose own ids the toolkit uses, with any ids of special pieces.

    Args:
        model: the serialised model, not sealed.
        where: its file, for messages.

    Raises:
        DataError: it is not a sentencepiece model, or lacks a symbol that ends a sentence.
    """
    pieces = [one.piece for one in sentencepiece_proto(model, where).pieces]
    trained = sentencepiece_proto(model, where).trainer_spec
    names = [trained.pad_piece, trained.unk_piece, trained.bos_piece, trained.eos_piece]
    pad, unknown, begin, end = (name if name in pieces else None for name in names)
    if unknown is None or end is None:
        raise DataError(f"{where}: a sentencepiece model without a symbol for unknown or end")
    ids = {piece: i for i, piece in enumerate(pieces)}
    return dictionary_over_sentencepiece(model, ids, Special(pad, unknown, begin, end), where)


def pieces_of(model: bytes, where: str) -> list[str]:
    """The pieces of a serialised sentencepiece model, in its order.

    Raises:
        DataError: it is not a sentencepiece model.
        MissingExtraError: protobuf is not installed.
    """
    return [one.piece for one in sentencepiece_proto(model, where).pieces]


def dictionary_over_sentencepiece(
    model: bytes,
    ids: Mapping[str, int],
    special: Special,
    where: str,
    *,
    tags: Mapping[str, str] | None = None,
    copies: Mapping[str, str] | None = None,
    limited: bool = False,
    lowercase: bool = False,
) -> Numbered:
    """A dictionary of the pieces of a sentencepiece model, such as Marian's ``vocab.json``.

    If both have the same pieces, and there are no tags, the vocabulary is the model with its ids
    changed, and works in every way like a vocabulary trained here.  Otherwise it is a list: text is
    split by the model, and pieces that the list lacks are unknown, as in the toolkit.  Pieces that
    only the list has belong to the other language. They are decoded, and encode characters that the
    model lacks.

    Args:
        model: the serialised model, not sealed.
        ids: the dictionary, which may begin at any number and have gaps.
        where: its file, for messages.
        tags: entries that are tags, with our names for them, such as ``>>deu<<`` and ``<2deu>``.
        copies: further tags of ours, each with the entry whose row it has, too.
        limited: whether text is split only into pieces of the dictionary, and characters.
    """
    proto = sentencepiece_proto(model, where)
    names, rows = _order(ids, special, where, tags or {})
    if limited:
        _limit(proto, ids.keys())
    if not tags and not copies and not lowercase:
        renumbered = _renumbered(proto, names)
        if renumbered is not None:
            return Numbered(SentencePieceVocabulary(renumbered), rows)
    model = proto.SerializeToString() if limited else model
    splitting = SentencePieces.of(model, lowercase=lowercase)
    copied = copies or {}
    tags = {**(tags or {}), **{tag: tag for tag in copied}}
    rows = (*rows, *(ids[piece] for piece in copied.values()))
    return Numbered(_listed([*names, *copied], tags, splitting, where), rows)


def dictionary_over_words(
    splitting: SubwordNmt,
    ids: Mapping[str, int],
    special: Special,
    where: str,
    *,
    tags: Mapping[str, str] | None = None,
) -> Numbered:
    """A dictionary of words, or of pieces that subword-nmt makes of them."""
    names, rows = _order(ids, special, where, tags or {})
    return Numbered(_listed(names, tags, splitting, where), rows)


def limited_to(
    vocabulary: Vocabulary, kept: Collection[int], unknown: Collection[str] = ()
) -> Numbered:
    """A vocabulary with only some of its pieces, as a list; rows are ids of the larger one.

    The special pieces and those for bytes always stay, and in a sentencepiece model of byte-pair
    encoding the pieces that others are merged from.  Text whose pieces are all kept is split as
    before.  Elsewhere merges still go through pieces that are left out, and a left-out piece at
    their end is split again.

    Args:
        vocabulary: the larger vocabulary.
        kept: ids there.
        unknown: strings that it splits text into without having pieces for them, and which are not
            to be split further.

    Raises:
        MissingExtraError: protobuf is not installed.
    """
    tags: Sequence[str] = ()
    splitting: SentencePieces | SubwordNmt
    if isinstance(vocabulary, ListedVocabulary):
        tags, splitting = vocabulary.content.tags, vocabulary.content.splitting
    else:  # sentencepiece itself finds its symbols, also within words
        assert vocabulary.sentencepiece is not None, "the other kind is a sentencepiece model"
        splitting = SentencePieces.of(vocabulary.sentencepiece)
    pieces = vocabulary.pieces(range(len(vocabulary)))
    used = {*(pieces[i] for i in kept), *unknown}
    limited, through = _limited(splitting, used)
    through = through.difference(unknown)
    rows = [
        i
        for i, piece in enumerate(pieces)
        if i <= EOS or i in kept or piece in through or _BYTE.fullmatch(piece)
    ]
    names = [pieces[i] for i in rows]
    there = {*names, *unknown}
    content = PieceList(
        pieces=tuple(names),
        tags=tuple(tag for tag in tags if tag in there),
        splitting=limited,
    )
    return Numbered(ListedVocabulary(content), tuple(rows))


def _limited(
    splitting: SentencePieces | SubwordNmt, pieces: set[str]
) -> tuple[SentencePieces | SubwordNmt, set[str]]:
    """The splitting that splits all other pieces again, and pieces that it needs for merges."""
    if isinstance(splitting, SubwordNmt):
        allowed = pieces.intersection(splitting.vocabulary or pieces)
        # A copy of the object would keep the merges that it has read.
        values = splitting.model_dump() | {"vocabulary": tuple(sorted(allowed))}
        return SubwordNmt(**values), set()
    proto = sentencepiece_proto(splitting.serialized, "the vocabulary")
    through: set[str] = set()
    if proto.trainer_spec.model_type == _BPE and _UNUSED not in {one.type for one in proto.pieces}:
        scores = {one.piece: one.score for one in proto.pieces if one.type == _NORMAL}
        through = merged_through(pieces, scores)
        left = [one for one in proto.pieces if one.type != _NORMAL or one.piece in through]
        del proto.pieces[:]
        proto.pieces.extend(left)
        proto.trainer_spec.vocab_size = len(left)
    else:
        _limit(proto, pieces)
    return SentencePieces.of(proto.SerializeToString(), lowercase=splitting.lowercase), through


def characters_of(vocabulary: Vocabulary, characters: Iterable[str]) -> Iterator[int]:
    """Ids of the pieces that are one of these characters, perhaps with a mark of a word's end."""
    endings = [""]
    if isinstance(vocabulary, ListedVocabulary):
        splitting = vocabulary.content.splitting
        endings += [splitting.separator] if isinstance(splitting, SubwordNmt) else []
    names = [character + ending for character in characters for ending in endings]
    return (i for i in vocabulary.ids(names) if i > EOS)


def subword_nmt(lines: Iterable[str], where: str, **settings: Any) -> SubwordNmt:
    """The merges of a file of subword-nmt, or of fastBPE, which has counts.

    Raises:
        DataError: a line is not a merge, or a setting is not usable.
    """
    found = [line.strip("\r\n ") for line in lines]
    while found and not found[-1]:
        found.pop()
    if not found:
        raise DataError(f"{where}: no merges here; is this the file of codes?")
    if all(len(line.split(" ")) == 3 and line.split(" ")[2].isdecimal() for line in found):
        found = [_WRITTEN, *(line.rsplit(" ", 1)[0] for line in found)]
    return words_splitting(where, codes=tuple(found), **settings)


def words_splitting(where: str, **settings: Any) -> SubwordNmt:
    """Checked settings of tokenisation.

    Raises:
        DataError: a setting is not usable.
    """
    try:
        return SubwordNmt(**settings)
    except ValidationError as error:
        raise DataError(f"{where}: {error.errors()[0]['msg']}") from error


def _order(
    ids: Mapping[str, int], special: Special, where: str, tags: Mapping[str, str]
) -> tuple[list[str], tuple[int | None, ...]]:
    """Our names of the pieces after the special ones, and the foreign id of every piece."""
    for name in special:
        if name is not None and name not in ids:
            raise DataError(f"{where}: the dictionary has no {name}, which the toolkit needs")
    if len(set(ids.values())) < len(ids) or min(ids.values(), default=0) < 0:
        raise DataError(
            f"{where}: two pieces of the dictionary have the same number, or one is < 0"
        )
    if wrong := next((piece for piece in ids if _NO_TEXT.search(piece)), None):
        raise DataError(f"{where}: the piece {wrong!r:.40} has half of a surrogate pair, no text")
    others = sorted((piece for piece in ids if piece not in special), key=ids.__getitem__)
    names = [tags.get(piece, piece) for piece in others]
    clash = set(names) & set(SPECIAL)
    names = [f"{name[:-1]}_>" if name in clash else name for name in names]
    if len(set(names)) < len(names):
        raise DataError(f"{where}: a piece of the dictionary has the name of another one's tag")
    rows = [None if name is None else ids[name] for name in special]
    return names, (*rows, *(ids[piece] for piece in others))


def _listed(
    names: Sequence[str],
    tags: Mapping[str, str] | None,
    splitting: SentencePieces | SubwordNmt,
    where: str,
) -> ListedVocabulary:
    ours = tuple((tags or {}).values())
    if wrong := next((tag for tag in ours if not is_tag(tag)), None):
        raise DataError(f"{where}: {wrong!r} cannot be a tag here")
    there = frozenset(names)
    content = PieceList(
        pieces=(*SPECIAL, *names),
        tags=tuple(tag for tag in ours if tag in there),
        splitting=splitting,
    )
    return ListedVocabulary(content)


def sentencepiece_proto(model: bytes, where: str) -> Any:
    """The parsed message of a serialised sentencepiece model.

    Raises:
        DataError: it is not a sentencepiece model.
        MissingExtraError: protobuf is not installed.
    """
    try:
        from google.protobuf.message import DecodeError

        module: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    except ImportError as error:
        raise MissingExtraError.of("protobuf", "protobuf") from error

    proto = module.ModelProto()
    try:
        proto.ParseFromString(model)
        sentencepiece.SentencePieceProcessor().LoadFromSerializedProto(model)
    except (DecodeError, RuntimeError) as error:
        raise DataError(f"{where}: not a sentencepiece model ({error})") from error
    if not proto.pieces:
        raise DataError(f"{where}: not a sentencepiece model, or one without pieces")
    if not proto.HasField("normalizer_spec"):  # the last part of sentencepiece's files
        raise DataError(f"{where}: a sentencepiece model without its end; download it again")
    return proto


def _limit(proto: Any, pieces: Container[str]) -> None:
    """Does the same as sentencepiece's ``SetVocabulary``, which always keeps single characters."""
    for one in proto.pieces:
        if one.type == _NORMAL and one.piece not in pieces and len(one.piece) > 1:
            one.type = _UNUSED


def _renumbered(proto: Any, names: Sequence[str]) -> bytes | None:
    """The model with our special pieces, then ``names``; None if its other pieces differ."""
    theirs = {one.piece: one for one in proto.pieces if one.type not in {_UNKNOWN, _CONTROL}}
    if theirs.keys() != set(names):
        return None
    new = type(proto)()
    new.CopyFrom(proto)
    del new.pieces[:]
    for name in SPECIAL:
        kind = _UNKNOWN if name == SPECIAL[1] else _CONTROL
        new.pieces.add(piece=name, score=0.0, type=kind)
    new.pieces.extend(theirs[name] for name in names)
    spec = new.trainer_spec
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = range(len(SPECIAL))
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = SPECIAL
    spec.unk_surface = UNKNOWN_SURFACE
    spec.vocab_size = len(new.pieces)
    return bytes(new.SerializeToString())
