"""Trimming of an imported model to the languages and the text that it is needed for.

Most rows of a multilingual model's embeddings are pieces of other languages.  The pieces of a text
in the needed languages stay (Abdaoui et al. 2020, arXiv:2010.05609; Ushio et al. 2023,
arXiv:2305.15020).  All other weights stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.interface import ForeignModel
from dragoman.exchange.weight_layout import with_rows
from dragoman.saved.directions import check_language, own_name, target_languages
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.shortlist import Shortlist
from dragoman.text.lines import read_lines
from dragoman.text.vocabularies import UNK, Vocabularies, Vocabulary, prepare_line
from dragoman.text.vocabularies.foreign_vocabulary import Numbered, characters_of, limited_to
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.piece_links import PieceTable
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary

_LINES_AT_ONCE = 1000


@dataclass(frozen=True)
class Trimming:
    """Text and languages that an imported model is needed for."""

    text: Sequence[Path]
    """Files of lines in all needed languages."""
    languages: Sequence[str] = ()
    """All languages if empty.  Short codes mean the model's own names: ``ko`` is ``kor_Hang``."""

    def check(self) -> None:
        """Check that the files have lines, before a large model is fetched or read."""
        if not self.text:
            raise ConfigError("--languages needs --text FILE, text in these languages; add it")
        for path in self.text:
            next(read_lines(path))

    def batches(self) -> Iterator[list[str]]:
        """The lines of all files, some at a time."""
        lines = (line for path in self.text for line in read_lines(path))
        while batch := list(islice(lines, _LINES_AT_ONCE)):
            yield batch


def trimmed(model: ForeignModel, trimming: Trimming) -> ForeignModel:
    """The same model with fewer pieces and languages.

    Special symbols, tags of the languages, bytes, and the characters of the text stay, too.

    Raises:
        ConfigError: the model lacks one of the languages.
        DataError: a file is missing, empty or not text, or all files have only blank lines.
    """
    config = _with_languages(model.config, trimming.languages)
    sides = _sides(model.vocabularies, _tags_left_out(model.config, config), trimming)
    vocabularies = Vocabularies(*(side.vocabulary for side in sides))
    weights = with_rows(model.weights, *(_rows(side) for side in sides))
    after = replace(
        model,
        config=config,
        vocabularies=vocabularies,
        weights=weights,
        shortlist=None if model.shortlist is None else _with_rows(model.shortlist, sides),
    )
    return replace(after, notes=(*model.notes, *_notes(model, after, trimming)))


def _with_languages(config: SavedConfig, languages: Sequence[str]) -> SavedConfig:
    """The configuration with only the directions into these languages."""
    if not languages:
        return config
    known = target_languages(config)
    if not config.names_source:
        known = list(dict.fromkeys((config.source_language, *known)))
    names = [own_name(config, language) for language in languages]
    for name in names:
        check_language(name, known)
    directions = tuple(
        direction for direction in config.directions if direction.target_language in names
    )
    listed = ",".join(languages)
    if config.directions and not directions:
        raise ConfigError(
            f"--languages {listed}: the model translates only from it; name a target language, "
            f"too: {', '.join(target_languages(config))}"
        )
    if config.names_source and len(directions) < 2:
        raise ConfigError(f"--languages {listed}: name two or more, such as {known[0]},{known[1]}")
    if config.names_source and config.target_language in set(known) - set(names):
        raise ConfigError(
            f"--languages {listed} lacks {config.target_language}, which --to-language names; add "
            "it, or leave --to-language out"
        )
    return config.model_copy(update={"directions": directions})


def _tags_left_out(before: SavedConfig, after: SavedConfig) -> set[str]:
    """The tags that only ask for languages which are left out."""
    had, kept = (
        {tag for direction in config.directions for tag in direction.tags}
        for config in (before, after)
    )
    return had - kept


def _sides(
    vocabularies: Vocabularies, left_out: set[str], trimming: Trimming
) -> tuple[Numbered, Numbered]:
    """The smaller vocabularies of source and target; one for both if they were one."""
    different = {side.fingerprint: side for side in vocabularies}
    used = {key: _Used.of(vocabulary, trimming) for key, vocabulary in different.items()}
    every = frozenset().union(*(one.pieces for one in used.values()))
    limited: dict[str, Numbered] = {}
    for key, vocabulary in different.items():
        # A matrix may serve both sides if they have the same ids.
        kept = every if vocabularies.same_ids else used[key].pieces
        kept = kept.difference(vocabulary.ids(left_out))
        limited[key] = limited_to(vocabulary, kept, used[key].unknown)
    source, target = (limited[key] for key in vocabularies.fingerprints)
    return source, target


def _strings(vocabulary: Vocabulary, line: str) -> Iterable[str]:
    if isinstance(vocabulary, ListedVocabulary):
        return vocabulary.strings(prepare_line(line))
    return vocabulary.surfaces(line)


@dataclass(frozen=True)
class _Used:
    """Pieces that a text needs."""

    pieces: frozenset[int]
    """Ids of the pieces and single characters of the text, and of all tags."""
    unknown: frozenset[str]
    """All strings that lines with unknown pieces are split into."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, trimming: Trimming) -> _Used:
        pieces: set[int] = set()
        characters: set[str] = set()
        unknown: set[str] = set()
        for lines in trimming.batches():
            for line, ids in zip(lines, vocabulary.encode_batch(lines), strict=True):
                pieces.update(ids)
                characters.update(vocabulary.normalized(line))
                if UNK in ids:
                    unknown.update(_strings(vocabulary, line))
        if not pieces:
            raise DataError(f"{trimming.text[0]}: has only blank lines; give text in the languages")
        pieces.update(characters_of(vocabulary, characters), vocabulary.tags)
        return cls(frozenset(pieces), frozenset(unknown))


def _with_rows(shortlist: Shortlist, sides: tuple[Numbered, Numbered]) -> Shortlist:
    """The shortlist of the pieces that stay."""
    source, target = map(_rows, sides)
    ours = {row: piece for piece, row in enumerate(target)}
    lists = [[ours[i] for i in shortlist.table.of(row).tolist() if i in ours] for row in source]
    always = [ours[row] for row in shortlist.always.tolist() if row in ours]
    fingerprints = sides[0].vocabulary.fingerprint, sides[1].vocabulary.fingerprint
    return Shortlist(
        table=PieceTable.of_lists(lists),
        always=np.array(always, np.int64),
        origin=shortlist.origin.model_copy(update={"fingerprints": fingerprints}),
    )


def _rows(side: Numbered) -> list[int]:
    assert None not in side.rows, "all pieces come from the larger vocabulary"
    return [row for row in side.rows if row is not None]


def _notes(before: ForeignModel, after: ForeignModel, trimming: Trimming) -> Iterator[str]:
    """Figures before and after, and what is different now."""
    sizes = [_sizes(model) for model in (before, after)]
    (pieces, parameters), (fewer_pieces, fewer_parameters) = sizes
    languages = f"the languages {', '.join(trimming.languages)} and " if trimming.languages else ""
    yield (
        f"Trimmed to {languages}the pieces of a text: {fewer_pieces:,} of {pieces:,} pieces, "
        f"{fewer_parameters:,} of {parameters:,} parameters, {_megabytes(fewer_parameters)} of "
        f"{_megabytes(parameters)} MB."
    )
    total, cut = _cut(before.vocabularies, after.vocabularies, trimming)
    yield (
        f"Of the text's {total:,} pieces, {cut:,} are split into smaller ones. Other text is split "
        "into the pieces that are left, and its characters that have no piece are unknown."
    )
    if any(isinstance(side, SentencePieceVocabulary) for side in before.vocabularies):
        yield "Its vocabulary is a fixed list now, without subword sampling and extension."


def _sizes(model: ForeignModel) -> tuple[int, int]:
    """Pieces, of both sides if they differ, and parameters."""
    vocabularies = model.vocabularies
    sides = vocabularies[:1] if vocabularies.same_ids else vocabularies
    return sum(map(len, sides)), sum(tensor.numel() for tensor in model.weights.values())


def _megabytes(parameters: int) -> str:
    return f"{parameters * 4 / 1e6:,.1f}"


def _cut(before: Vocabularies, after: Vocabularies, trimming: Trimming) -> tuple[int, int]:
    """How many pieces the text had on both sides, and how many of these it has no more."""
    total = cut = 0
    sides = list(zip(before, after, strict=True))
    for old, new in sides[:1] if before.joint else sides:
        for lines in trimming.batches():
            encoded = zip(old.encode_batch(lines), new.encode_batch(lines), strict=True)
            for ids, new_ids in encoded:
                pieces, new_pieces = old.pieces(ids), new.pieces(new_ids)
                total += len(pieces)
                if pieces != new_pieces:
                    cut += (Counter(pieces) - Counter(new_pieces)).total()
    return total, cut
