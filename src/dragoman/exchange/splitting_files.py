"""The files beside a model that say how its text was split into pieces.

Toolkits that read lines of pieces leave the splitting to other programs, whose files are published
with the model under names that nobody has agreed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import read_bytes, read_text
from dragoman.exchange.foreign_transformer import ForeignSides
from dragoman.exchange.interface import Languages
from dragoman.text.vocabularies.foreign_vocabulary import (
    Numbered,
    Special,
    dictionary_over_sentencepiece,
    dictionary_over_words,
    subword_nmt,
)

_SENTENCEPIECE = (".model", ".spm")
_CODES = (".codes", ".bpe", "bpe.model")
_CODES_NAMES = ("code", "codes", "bpecodes")
_SIDES = (("source", "src"), ("target", "tgt", "trg"))
_JOINER = "\uffed"  # "￭" marks what the tokeniser of OpenNMT has split


def numbered_sides(
    directory: Path,
    dictionaries: tuple[Mapping[str, int], Mapping[str, int]],
    special: tuple[Special, Special],
    languages: Languages,
    where: Path,
    *,
    named: Languages = (None, None),
    tags: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> ForeignSides:
    """The vocabularies of both sides, with the splitting whose files are in a directory.

    Args:
        directory: of the model.
        dictionaries: pieces and their numbers, of source and target.
        special: what their special pieces are called.
        languages: of source and target, if known; a file may be named after one.
        where: the file of the dictionaries, for messages.
        named: names of the files, if the model has them.
        tags: pieces of each side that are tags, with our names for them.
    """
    sides: list[Numbered] = []
    notes: list[str] = []
    for side, ids in enumerate(dictionaries):
        if any(_JOINER in piece for piece in ids):
            raise ConfigError(
                f"{where}: its pieces have the joiners of the tokeniser of OpenNMT ({_JOINER}), "
                "which is not known here; models over sentencepiece or subword-nmt can be imported"
            )
        file = _file_of(directory, side, languages, named[side])
        if _is_codes(file):
            note, numbered = _over_codes(file, ids, special[side], languages[side], tags[side])
            notes += [note] if note not in notes else []
        else:
            model = read_bytes(file)
            numbered = dictionary_over_sentencepiece(
                model, ids, special[side], str(file), tags=tags[side]
            )
        sides.append(numbered)
    sizes = len(dictionaries[0]), len(dictionaries[1])
    return ForeignSides((sides[0], sides[1]), sizes, notes)


def _over_codes(
    file: Path,
    ids: Mapping[str, int],
    special: Special,
    language: str | None,
    tags: Mapping[str, str],
) -> tuple[str, Numbered]:
    """A dictionary over merges of subword-nmt, with a word tokeniser that its pieces imply."""
    escapes = any(piece.startswith(("&apos;", "&quot;", "&amp;")) for piece in ids)
    hyphens = any(piece.startswith("@-@") for piece in ids)
    splitting = subword_nmt(
        read_text(file).split("\n"),
        str(file),
        tokenizer="moses",
        language=language or "en",
        escape=escapes,
        aggressive=hyphens,
    )
    note = (
        f"{file.name}: no file says how words were told apart before; they are taken to be those "
        f"of the Moses tokeniser{', with its escapes' if escapes else ''}"
        f"{', split at hyphens' if hyphens else ''}, as the pieces look."
    )
    return note, dictionary_over_words(splitting, ids, special, str(file), tags=tags)


def _is_codes(file: Path) -> bool:
    """By the name, which sentencepiece models may share."""
    named = _named_as_codes(file)
    return named and b"\0" not in read_bytes(file)


def _named_as_codes(file: Path) -> bool:
    return file.name.lower() in _CODES_NAMES or file.name.lower().endswith(_CODES)


def _file_of(directory: Path, side: int, languages: Languages, named: str | None) -> Path:
    """The file that says how a side is split."""
    if named is not None and (directory / Path(named).name).is_file():
        return directory / Path(named).name
    files = sorted(path for path in directory.iterdir() if path.is_file())
    candidates = [
        file for file in files if file.suffix.lower() in _SENTENCEPIECE or _is_codes(file)
    ]
    if len(candidates) > 1:
        mine = [file for file in candidates if _tells(file, (*_SIDES[side], languages[side]))]
        theirs = (*_SIDES[1 - side], languages[1 - side])
        other = [file for file in candidates if _tells(file, theirs)]
        unnamed = [file for file in candidates if file not in (*mine, *other)]
        own = [file for file in mine if file not in other]
        candidates = next(filter(None, (own, mine, unnamed)), candidates)
    if not candidates:
        raise DataError(
            f"{directory}: no file here says how text is split into pieces; put the sentencepiece "
            "model beside the model, as sentencepiece.model (or source.model and target.model), or "
            "the merges of subword-nmt, as bpe.codes"
        )
    if len(candidates) > 1:
        names = ", ".join(file.name for file in candidates)
        raise DataError(
            f"{directory}: {names} may each say how the {_SIDES[side][0]} is split into pieces; "
            f"name the right one {_SIDES[side][0]}{candidates[0].suffix}"
        )
    return candidates[0]


def _tells(file: Path, words: Iterable[str | None]) -> bool:
    """Whether one of the words, which may have parts as pt-BR has, is within a file's name."""
    name = _in_dots(file.name)
    return any(word is not None and _in_dots(word) in name for word in words)


def _in_dots(name: str) -> str:
    return f".{name.lower().replace('_', '.').replace('-', '.')}."
