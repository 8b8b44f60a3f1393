"""The files beside the weights of a model of Marian: its search, vocabularies, card and licence."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Self

import yaml

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.strict_yaml import load_yaml
from dragoman.exchange.foreign_files import ForeignOptions, read_bytes, read_text
from dragoman.exchange.foreign_transformer import ForeignSides
from dragoman.exchange.interface import Languages
from dragoman.exchange.marian_files import DECODER_FILE
from dragoman.exchange.opus_codes import code_tags
from dragoman.exchange.packages import Package
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.text.vocabularies.foreign_vocabulary import Special, sentencepiece_vocabulary

ARCHIVE, WEIGHTS, BINARY, _SPM = ".zip", ".npz", ".bin", ".spm"
_LISTS = (".yml", ".yaml", ".json")
_STUDENT = re.compile(r".*\.intgemm.*\.bin")
"""The weights of students in int8; other files end with .bin, too."""
_SHORTLIST = "lex*.bin"
_SUFFIXES = (WEIGHTS, BINARY, _SPM, *_LISTS, ".vocab", ".txt", ".bpe", ".codes", ".md")
_OPTIMISER = ".optimizer.npz"
_CARD, _LICENCE, PREPROCESS = "README.md", "LICENSE", "preprocess.sh"
PACKAGE = Package(
    what=f"model of Marian, which has one {DECODER_FILE} beside its weights and vocabularies",
    mark=DECODER_FILE,
    wanted=lambda file: (
        len(file.parts) == 1 and (file.name in {_LICENCE, PREPROCESS} or _is_read(file))
    ),
)
_LANGUAGE = re.compile(r"^\W*(source|target) language(?:s|\(s\))?: *([A-Za-z0-9_-]+) *$", re.M)
"""In the card of OPUS-MT; a model of several languages has more than a name there."""
_LOADER: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MAPPING = [
    yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent,
    yaml.MappingEndEvent, yaml.DocumentEndEvent, yaml.StreamEndEvent,
]  # fmt: skip
"""The events, beside those of scalars, of a document that is a flat mapping."""
_BEAM = 12  # of marian-decoder
_BERGAMOT_FILE = "config.intgemm8bit*.yml"
_BERGAMOT = {"beam-size": 1, "normalize": 1.0}
"""Of Firefox, whose models have no such file."""
_FIREFOX_NAME = re.compile(r"model\.([a-z]{2})([a-z]{2})\.")


@dataclass(frozen=True)
class DecoderOptions(ForeignOptions):
    """``decoder.yml``, which may be missing."""

    @classmethod
    def of(cls, directory: Path) -> Self:
        """The options of marian-decoder for the model in a directory."""
        files = (directory / DECODER_FILE, *sorted(directory.glob(_BERGAMOT_FILE)))
        file = next(filter(Path.is_file, files), files[0])
        if not file.is_file():
            is_bergamot = any(map(is_student, directory.iterdir()))
            return cls(_BERGAMOT if is_bergamot else {}, file, prefix="")
        try:
            values = load_yaml(read_text(file))
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise DataError(f"{file}: {' '.join(str(error).split()):.200}") from error
        if not isinstance(values, dict):
            raise DataError(f"{file}: expected options by name")
        return cls(values, file, prefix="")

    def weights(self) -> Path:
        """The only file of weights."""
        files = self._named("models") or weights_in(self.where.parent)
        if not files:
            raise DataError(f"{self.where.parent}: has no {WEIGHTS} with the weights of a model")
        if len(files) > 1:
            names = ", ".join(file.name for file in files[:9])
            raise ConfigError(
                f"{self.where.parent}: has the models {names}; name the file of the one to import"
            )
        return files[0]

    def vocabularies(self) -> tuple[Path, Path]:
        """Of source and target."""
        directory = self.where.parent
        files = self._named("vocabs")
        if not files:
            lists = [file for end in _LISTS for file in directory.glob(f"*vocab{end}")]
            files = sorted(lists or directory.glob(f"*vocab*{_SPM}"))
            if len(files) == 1:
                files *= 2
            elif files and not files[0].name.startswith(("srcvocab", "vocab.source")):
                files = []  # which is the source's is not to be guessed
        if len(files) != 2:
            raise DataError(
                f"{self.where}: vocabs: expected the files of the source's and the target's "
                "vocabulary"
            )
        return files[0], files[1]

    def shortlist(self) -> Path | None:
        """The file of the pieces that may translate each piece."""
        named = self.of_type("shortlist", list, [])[:1]
        directory = self.where.parent
        files = [directory / _base(str(name)) for name in named] or list(directory.glob(_SHORTLIST))
        files = [file for file in files if file.is_file() and file.suffix == ".bin"]
        return files[0] if len(files) == 1 else None

    def _named(self, option: str) -> list[Path]:
        """The files that an option names, which lie beside it whatever their folder was."""
        names = self.of_type(option, list, [])
        for name in names:
            if not isinstance(name, str) or not (self.where.parent / _base(name)).is_file():
                raise DataError(f"{self.where}: {option}: {name!r:.100} is not beside it")
        return [self.where.parent / _base(name) for name in names]

    def search(self) -> tuple[dict[str, Any], list[str]]:
        """Settings of search, and how theirs differ."""
        beam = max(self.of_type("beam-size", int, _BEAM), 1)
        normalize = self.get("normalize", 0.0)
        if isinstance(normalize, bool):  # a switch in early versions
            normalize = float(normalize)
        penalty = max(
            replace(self, values={"normalize": normalize}).of_type("normalize", float), 0.0
        )
        notes = [
            f"Search: beam {beam}. marian-decoder divides a hypothesis' log-probability by "
            f"|Y|^{penalty:g}, here by ((5 + |Y|) / 6)^{penalty:g} (Wu et al. 2016), so that beam "
            "search may rank hypotheses otherwise; with beam 1 texts are the same."
        ]
        if word := self.get("word-penalty", 0):
            notes.append(f"word-penalty: {word!r:.20} is not done here.")
        if self.get("allow-unk", False):
            notes.append(
                "Unknown pieces are put out there, and here if search.allow_unknown is set."
            )
        return {"beam": beam, "length_penalty": penalty}, notes


def read_sides(
    directory: Path, files: tuple[Path, Path], sizes: tuple[int, int], languages: Languages
) -> ForeignSides:
    """The vocabularies: sentencepiece's own, or lists of pieces and what splits text into them."""
    if all(file.suffix.lower() == _SPM for file in files):
        numbered = [sentencepiece_vocabulary(read_bytes(file), str(file)) for file in files]
        sides = ForeignSides((numbered[0], numbered[1]), sizes)
        largest = [max(row or 0 for row in side.rows) for side in numbered]
    else:
        lists = _list(files[0]), _list(files[1])
        special = [
            Special(
                "<pad>" if "<pad>" in ids else None,
                "<unk>",
                "<s>" if "<s>" in ids else None,
                "</s>",
            )
            for ids in lists
        ]
        sides = numbered_sides(
            directory,
            lists,
            (special[0], special[1]),
            languages,
            files[0],
            tags=(code_tags(lists[0]), code_tags(lists[1])),
        )
        sides = replace(sides, sizes=sizes)
        largest = [max(ids.values()) for ids in lists]
    for file, number, size in zip(files, largest, sizes, strict=True):
        if number >= size:
            raise DataError(
                f"{file}: has {number + 1} pieces, the model {size}; they do not belong together"
            )
    return sides


def _list(file: Path) -> dict[str, int]:
    """Pieces and their rows, from a mapping in YAML or JSON, or from a line each."""
    text = read_text(file)
    if file.suffix.lower() not in _LISTS:
        lines = text.removesuffix("\n").split("\n")
        pairs = [(line.rstrip("\r"), str(row)) for row, line in enumerate(lines)]
    else:
        pairs = _entries(text, file)
    ids: dict[str, int] = {}
    for piece, number in pairs:
        if not number.isdecimal():
            raise DataError(f"{file}: {piece!r:.80}: expected a piece and its number")
        if piece in ids:
            raise DataError(f"{file}: has {piece!r:.80} twice")
        ids[piece] = int(number)
    return ids


def _entries(text: str, file: Path) -> list[tuple[str, str]]:
    """The keys and values of a mapping in YAML, as text.

    They are read event by event: libyaml's composer has no bound on nesting.
    """
    scalars: list[str] = []
    kinds: list[type[yaml.Event]] = []
    try:
        for event in yaml.parse(text, _LOADER):
            if isinstance(event, yaml.ScalarEvent):
                scalars.append(event.value)
                continue
            kinds.append(type(event))
            if kinds != _MAPPING[: len(kinds)]:
                break
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"{file}: {' '.join(str(error).split()):.200}") from error
    if kinds != _MAPPING:
        raise DataError(f"{file}: expected nothing but pieces and their numbers")
    return list(zip(scalars[::2], scalars[1::2], strict=True))


def languages_in(directory: Path, weights: Path, given: Languages) -> Languages:
    """Those that the user, the card of OPUS-MT or the name of Firefox's file says."""
    card = directory / _CARD
    said = dict(_LANGUAGE.findall(read_text(card))) if card.is_file() else {}
    if match := _FIREFOX_NAME.match(weights.name):
        said = {"source": match[1], "target": match[2], **said}
    return given[0] or said.get("source"), given[1] or said.get("target")


def licence_in(directory: Path) -> str | None:
    """The first line of its text."""
    file = directory / _LICENCE
    lines = read_text(file).split("\n") if file.is_file() else []
    return next((line.strip()[:80] for line in lines if line.strip()), None)


def weights_in(directory: Path) -> list[Path]:
    """The files of weights in a directory, without the states of optimisers."""
    return sorted(
        file
        for file in directory.iterdir()
        if (_is_read(file) and file.suffix.lower() == WEIGHTS) or is_student(file)
    )


def is_student(file: Path) -> bool:
    """Whether a file has the weights of a student in int8."""
    return bool(_STUDENT.fullmatch(file.name))


def _is_read(file: PurePosixPath | Path) -> bool:
    return file.name.lower().endswith(_SUFFIXES) and not file.name.lower().endswith(_OPTIMISER)


def _base(name: str) -> str:
    return PurePosixPath(name).name
