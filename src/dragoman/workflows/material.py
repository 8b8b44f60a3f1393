"""The contents of a command line's files: corpora, their languages, and the side of each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import in_shell, named, shown
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Format, FormatError, file_formats, format_named, format_of
from dragoman.text.formats.xliff import Xliff
from dragoman.text.language_codes import is_language_tag, spelling
from dragoman.text.lines import COMPRESSIONS, language_of_file

log = logging.getLogger(__name__)

_SPREADSHEETS = {".csv", ".xlsx", ".xls", ".ods"}
_NO_SPREADSHEETS = "spreadsheets are not read; save one with both languages as CSV (.csv)"
_LINES = {".txt"}  # of documents, those that are nothing but lines
_ARABIC = ".arb"  # of strings of a program, and of Standard Arabic
_SHORT = 40  # characters of a name in an example
_SIDES = {"source", "target", "src", "tgt", "trg"}  # columns that are called after no language


@dataclass(frozen=True)
class Material:
    """The text of one direction, for which a configuration is made; paths are absolute."""

    source_language: str
    target_language: str
    train: tuple[CorpusPart, ...]
    dev: CorpusPart | None
    """None if it has to be split off."""
    test: CorpusPart | None
    """None if it has to be split off."""


@dataclass(frozen=True)
class Choice:
    """Sides and format as given by the user."""

    source: str | None = None
    """Column, key or language of the source; for plain files, its language."""
    target: str | None = None
    """Column, key or language of the target; for plain files, its language."""
    format: str | None = None
    """Format of the files, where suffixes do not determine it."""


def find_material(
    files: Sequence[Path],
    *,
    dev: Sequence[Path] = (),
    test: Sequence[Path] = (),
    source: str | None = None,
    target: str | None = None,
    file_format: str | None = None,
) -> Material:
    """Determine the contents of the files.

    Args:
        files: one with both sides, or two plain files.
        dev: likewise for the dev set; empty if it is to be split off.
        test: likewise for the test set.
        source: column, key or language of the source; for plain files, its language.
        target: likewise for the target.
        file_format: needed if suffixes do not determine it.
    """
    choice = Choice(source, target, file_format)
    _check_files(*files, *dev, *test)
    train, names = _part(files, choice)
    return Material(
        *names,
        (train,),
        _beside(dev, choice, train, names),
        _beside(test, choice, train, names),
    )


def find_part(files: Sequence[Path], choice: Choice) -> tuple[CorpusPart, tuple[str, str]]:
    """The corpus in one file with both sides or two plain files, and its two languages.

    Or, with a format of folders, that of a folder.
    """
    is_folder = choice.format is not None and format_named(choice.format).is_folder
    _check_files(*([path for path in files if not path.is_dir()] if is_folder else files))
    return _part(files, choice)


def offered_sides(path: Path, file_format: str | None = None) -> frozenset[str]:
    """The columns, keys or languages of one file with both sides; none if they have no names.

    Args:
        file_format: its format, where its suffix does not determine it.
    """
    _check_files(path)
    form = _known_format(path, Choice(format=file_format))
    if form is None or not (form.one_file and form.names_sides):
        return frozenset()
    return frozenset(form.offered_sides(path))


def _check_files(*files: Path) -> None:
    for path in files:
        if not path.is_file():
            there = "not a file" if path.exists() else "no such file"
            raise DataError(f"{path}: {there}; give the path of a text file")


def _beside(
    files: Sequence[Path], choice: Choice, train: CorpusPart, names: tuple[str, str]
) -> CorpusPart | None:
    """A dev or test set, with the sides of the training text."""
    if not files:
        return None
    if train.file_format.names_sides and len(files) == 1:
        sides = (train.source, train.target)
    else:
        sides = names
    told = choice.format
    if train.path is not None and len(files) == 2 and all(map(language_of_file, files)):
        told = None  # for the training file only; other files have suffixes
    return _part(files, Choice(*sides, told))[0]


def _what_to_give() -> str:
    names = ", ".join(file_formats())
    return f"give one file with both sides ({names}) or two plain files, source first"


def _part(files: Sequence[Path], choice: Choice) -> tuple[CorpusPart, tuple[str, str]]:
    if len(files) == 2:
        return _plain(files, choice)
    if len(files) != 1:
        raise ConfigError(f"{len(files)} files: {_what_to_give()}")
    path = files[0].absolute()
    try:
        form = format_of(path) if choice.format is None else format_named(choice.format)
    except FormatError as error:
        if choice.format is not None:
            raise
        if _suffix(path) in _SPREADSHEETS:
            raise ConfigError(f"{path}: {_NO_SPREADSHEETS}") from error
        raise ConfigError(
            f"{path}: its suffix does not determine its format; name it with --format, or "
            f"{_what_to_give()}"
        ) from error
    if not form.one_file:
        raise ConfigError(f"{path}: a {form.name} file has one side; {_what_to_give()}")
    if isinstance(form, Xliff) and len(form.stated_languages(path)) > 1:
        form = format_named("xliff-files")  # which chooses among its parts
        choice = Choice(choice.source, choice.target, form.name)
    if not form.names_sides:
        told = form.languages(path)
        languages = choice.source or told[0] or "source", choice.target or told[1] or "target"
        return CorpusPart(path=str(path), format=choice.format), languages
    names = _chosen(form.offered_sides(path), choice, path)
    if form.sides == "columns" and choice.source is None and choice.target is None:
        _warn_of_no_header(path, names)
    part = CorpusPart(path=str(path), source=names[0], target=names[1], format=choice.format)
    # A JSONL key may be prefixed with the objects that contain it.
    source, target = (name.rpartition(".")[2] for name in names)
    return part, (source, target) if source != target else names


def _warn_of_no_header(path: Path, names: tuple[str, str]) -> None:
    """Warn if the names of columns are unlike a header, as if from a first pair."""
    if not any(is_language_tag(name) or name.lower() in _SIDES for name in names):
        log.warning(
            "%s: the first line is read as the header, with the columns %s; if it is a pair, put a "
            "header in front, such as en and de with a tab between",
            path,
            " and ".join(map(shown, names)),
        )


def _plain(files: Sequence[Path], choice: Choice) -> tuple[CorpusPart, tuple[str, str]]:
    """Two plain files; their suffixes are the languages unless the user names these."""
    for path in files:
        if (form := _known_format(path, choice)) is not None and form.one_file:
            raise ConfigError(
                f"{path}: a {form.name} file has both sides; {_what_to_give()}, and say --format "
                "plain if their suffixes are of another format"
            )
    if choice.format is None:
        _refuse_documents(files)
    suffixes = [_language(path, choice) for path in files]
    ours = list(files)
    if suffixes[::-1] == [choice.source, choice.target]:
        suffixes, ours = suffixes[::-1], ours[::-1]
    elif None in (choice.source, choice.target) and None not in suffixes:
        in_order = [choice.source in (None, suffixes[0]), choice.target in (None, suffixes[1])]
        swapped = [choice.source in (None, suffixes[1]), choice.target in (None, suffixes[0])]
        if not all(in_order) and all(swapped):
            suffixes, ours = suffixes[::-1], ours[::-1]
    source, target = choice.source or suffixes[0], choice.target or suffixes[1]
    if source is None or target is None or source == target:
        raise ConfigError(
            f"{files[0]} and {files[1]}: their suffixes are not two languages, as in train.en and "
            "train.de; name them with --source and --target, such as --source en --target de"
        )
    paths = [str(path.absolute()) for path in ours]
    part = CorpusPart(source=paths[0], target=paths[1])
    if choice.format not in {None, part.file_format.name}:
        part = part.model_copy(update={"format": choice.format})
    return part, (source, target)


def _language(path: Path, choice: Choice) -> str | None:
    """The language of a file with one side: that which it states, or else that of its name."""
    if (form := _known_format(path, choice)) is None or form.name == "plain":
        return language_of_file(path)
    source, target = form.languages(path)
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return target or source or language_of_file(plain.with_suffix(""))


def _refuse_documents(files: Sequence[Path]) -> None:
    """Refuse two files whose suffixes show that their lines are not sentences."""
    from dragoman.documents.filetypes import document_formats

    documents = {suffix for form in document_formats() for suffix in form.suffixes} - _LINES
    suffixes = [_suffix(path) for path in files]
    if suffixes.count(_ARABIC) == 1:
        documents.remove(_ARABIC)
    for path, suffix in zip(files, suffixes, strict=True):
        if suffix in _SPREADSHEETS:
            raise ConfigError(
                f"{path}: {_NO_SPREADSHEETS}; or say --format plain if each line is a sentence"
            )
        if suffix in documents:
            raise ConfigError(
                f"{path}: a {suffix} file is a document, whose lines are not sentences; give its "
                "texts and their translations as XLIFF, PO, TMX, TSV or JSONL, or say --format "
                "plain if each line is a sentence"
            )


def _suffix(path: Path) -> str:
    """The suffix of a file, without that of its compression."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.suffix.lower()


def _known_format(path: Path, choice: Choice) -> Format | None:
    """The format given by the user, or else by the suffix; None if neither gives one."""
    if choice.format is not None:
        return format_named(choice.format)
    try:
        return format_of(path)
    except FormatError:
        return None


def _chosen(offered: Sequence[str], choice: Choice, path: Path) -> tuple[str, str]:
    """The two chosen sides: those named, or the only possible ones."""
    source, target = (_offered_as(name, offered) for name in (choice.source, choice.target))
    if source is not None and target is not None:
        if source == target:
            raise ConfigError(f"--source and --target are both {source!r}; name two sides")
        return source, target
    open_names = [name for name in offered if name not in {source, target}]
    languages = [name for name in open_names if is_language_tag(name.rpartition(".")[2])]
    # Among others, "id" is more likely a row number than Indonesian.
    languages = [name for name in languages if name.lower() != "id" or len(offered) <= 2]
    wanted = 2 - len({source, target} - {None})
    for candidates in (open_names, languages):
        if len(candidates) == wanted:
            left = iter(candidates)
            return source or next(left), target or next(left)
    others = [name for name in open_names if name not in languages and len(name) <= _SHORT]
    raise ConfigError(
        f"{path}: it has {named(offered) or 'no text'}; say which are source and target, "
        f"{_example([*languages, *others], choice)}"
    )


def _offered_as(name: str | None, offered: Sequence[str]) -> str | None:
    """A side's name in the file: ``eng`` for the user's ``en`` if no other side is English."""
    if name is None or name in offered or not is_language_tag(name):
        return name
    same = [side for side in offered if spelling(side.rpartition(".")[2]) == spelling(name)]
    return same[0] if len(same) == 1 else name


def _example(likely: Sequence[str], choice: Choice) -> str:
    left = iter([*likely, "en", "de"])
    source, target = (in_shell(name or next(left)) for name in (choice.source, choice.target))
    return f"such as --source {source} --target {target}"
