"""A pile of text: any number of files and of folders with a project's translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named, shown
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import format_named, project_formats
from dragoman.text.formats.projects.bilingual_projects import NamedSides
from dragoman.text.formats.projects.project_folder import ProjectFolder, warn_once
from dragoman.text.formats.tmx import Tmx
from dragoman.text.language_codes import base_language, is_language_tag
from dragoman.text.lines import language_of_file
from dragoman.workflows.material import Choice, Material, find_material, find_part

USUAL_SOURCE = "en"
"""The language of the strings of most programs."""


def find_materials(
    files: Sequence[Path],
    *,
    dev: Sequence[Path] = (),
    test: Sequence[Path] = (),
    source: str | None = None,
    target: str | None = None,
    file_format: str | None = None,
    unreviewed: bool = False,
) -> list[Material]:
    """Determine the contents of files and folders, for each target language.

    Args:
        files: one file with both sides, two plain ones, or any number of files and folders.
        dev: one file or folder with both sides, or two plain files; empty if it is to be split off.
        test: likewise for the test set.
        source: column, key or language of the source.
        target: likewise for the target; several languages are separated by commas.
        file_format: needed if suffixes do not determine it.
        unreviewed: whether translations that are marked as not reviewed are read.
    """
    targets = [one.strip() for one in (target or "").split(",") if one.strip()]
    if len(targets) < 2 and not _is_pile(files, file_format):
        found = find_material(
            files, dev=dev, test=test, source=source, target=target, file_format=file_format
        )
        return [replace(found, train=_reviewed(found.train, unreviewed))]
    if len(set(targets)) < len(targets):
        raise ConfigError(f"--target {target}: a language is named twice; name each once")
    if not targets:
        source, only = _only_languages(files, source, file_format)
        targets = [only]
    elif source is None:
        source, _ = _only_languages(files, source, file_format, targets)
    return [
        _material(files, dev, test, Choice(source, one, file_format), unreviewed=unreviewed)
        for one in targets
    ]


def find_parts(
    files: Sequence[Path], choice: Choice, *, unreviewed: bool = False
) -> tuple[list[CorpusPart], tuple[str, str]]:
    """The parts of files and folders in one direction, and its two languages."""
    if not _is_pile(files, choice.format):
        part, languages = find_part(files, choice)
        return list(_reviewed([part], unreviewed)), languages
    (found,) = find_materials(
        files,
        source=choice.source,
        target=choice.target,
        file_format=choice.format,
        unreviewed=unreviewed,
    )
    return list(found.train), (found.source_language, found.target_language)


def languages_in(folder: Path, source: str, file_format: str | None = None) -> list[str]:
    """The languages of a project's folder, without that of the source.

    Raises:
        DataError: no translations are known in it.
    """
    offered = {name for names in _offered(folder, file_format).values() for name in names}
    if not offered:
        raise _nothing_found(folder, (source, source), file_format)
    return sorted(name for name in offered if base_language(name) != base_language(source))


def _is_pile(files: Sequence[Path], file_format: str | None) -> bool:
    """Whether these are more than one file with both sides, or two plain ones."""
    if any(path.is_dir() for path in files) or len(files) > 2:
        return True
    return len(files) == 2 and all(has_both_sides(path, file_format) for path in files)


def has_both_sides(path: Path, file_format: str | None) -> bool:
    """Whether a file has both sides, as its format or else its suffix says."""
    try:
        part = CorpusPart(path=str(path), source="source", target="target", format=file_format)
    except ValueError:  # sides that have no names, or a plain file
        pass
    else:
        return part.file_format.one_file
    try:
        return CorpusPart(path=str(path), format=file_format).file_format.one_file
    except ValueError:
        return False


def _reviewed(parts: Iterable[CorpusPart], unreviewed: bool) -> tuple[CorpusPart, ...]:
    """The parts, reading what is not reviewed if that is wanted and their format has it."""
    return tuple(
        part.model_copy(update={"unreviewed": True})
        if unreviewed and part.file_format.has_states
        else part
        for part in parts
    )


def _material(
    files: Sequence[Path],
    dev: Sequence[Path],
    test: Sequence[Path],
    choice: Choice,
    *,
    unreviewed: bool,
) -> Material:
    assert choice.source is not None
    assert choice.target is not None
    folders = [path for path in files if path.is_dir()]
    is_only = len(files) == 1
    parts = [part for path in folders for part in _folder_parts(path, choice, is_only=is_only)]
    plain = [path for path in files if not path.is_dir() and not has_both_sides(path, None)]
    for path in files:
        if path.is_dir() or path in plain:
            continue
        parts.append(find_part([path], replace(choice, format=None))[0])
    parts += [find_part(pair, choice)[0] for pair in _plain_pairs(plain)]
    if not parts:
        raise DataError(
            f"{folders[0]} and others: no translations from {choice.source!r} into "
            f"{choice.target!r} in any of them"
        )
    return Material(
        choice.source,
        choice.target,
        _reviewed(parts, unreviewed),
        _held_out(dev, choice),
        _held_out(test, choice),
    )


def _held_out(files: Sequence[Path], choice: Choice) -> CorpusPart | None:
    """A dev or test set: one file or folder with both sides, or two plain files."""
    if not files:
        return None
    if len(files) == 1 and files[0].is_dir():
        found = _tree_parts(files[0], choice)
        if len(found) > 1:
            names = named(str(part.format) for part in found)
            raise ConfigError(f"{files[0]}: files of {names}; name a folder with those of one")
        return found[0]
    return find_part(files, replace(choice, format=None))[0]


def _plain_pairs(files: Sequence[Path]) -> list[list[Path]]:
    """Plain files, paired by their names without the language."""
    pairs: dict[str, list[Path]] = {}
    for path in files:
        if not path.is_file():
            there = "not a file" if path.exists() else "no such file"
            raise DataError(f"{path}: {there}; give the path of a text file, or of a folder")
        language = language_of_file(path) or ""
        alike = path.with_name(path.name.replace(f".{language}", ""))
        pairs.setdefault(str(alike), []).append(path)
    for pair in pairs.values():
        if len(pair) != 2:
            raise ConfigError(
                f"{pair[0]}: a plain file has one side; give the file of the other side, called "
                "alike, such as train.en and train.de"
            )
    return list(pairs.values())


def _folder_parts(folder: Path, choice: Choice, *, is_only: bool) -> list[CorpusPart]:
    """The parts of a folder; one of several may have nothing in these languages."""
    try:
        return _tree_parts(folder, choice)
    except DataError as error:
        if is_only:
            raise
        warn_once(error)
        return []


def _tree_parts(folder: Path, choice: Choice) -> list[CorpusPart]:
    """The parts of a folder, one for each layout that has pairs.

    Raises:
        DataError: none has any, with what was looked for or the languages that are there.
    """
    assert choice.source is not None
    assert choice.target is not None
    sides = choice.source, choice.target
    path = folder.absolute()
    found = []
    for form in _forms(choice.format):
        try:
            has_pairs = any(True for _ in form.units(path, sides, warn_once))
        except DataError:  # lacks one of the languages
            continue
        if has_pairs:
            found.append(
                CorpusPart(path=str(path), source=sides[0], target=sides[1], format=form.name)
            )
    if not found:
        raise _nothing_found(folder, sides, choice.format)
    return found


def _forms(name: str | None) -> list[ProjectFolder]:
    if name is None:
        return project_formats()
    form = format_named(name)
    if isinstance(form, ProjectFolder):
        return [form]
    fitting = [one for one in project_formats() if one.name.startswith(f"{form.name}-")]
    if not fitting:
        raise ConfigError(f"--format {name}: folders are not read in it; leave it out")
    return fitting


def _offered(folder: Path, file_format: str | None) -> dict[str, list[str]]:
    """The languages in a folder by layout, without layouts that have none."""
    found = {form.title: _languages(form, folder.absolute()) for form in _forms(file_format)}
    return {title: names for title, names in found.items() if names}


def _languages(form: ProjectFolder, folder: Path) -> list[str]:
    """The names of sides that are languages, and not other columns."""
    names = [name for name in form.offered_sides(folder) if is_language_tag(name.partition("@")[0])]
    is_table = isinstance(form, NamedSides) and form.form.sides != Tmx.sides
    if is_table and "id" in names and len(names) > 2:
        names.remove("id")  # of a row, rather than Indonesian
    return names


def _nothing_found(folder: Path, sides: tuple[str, str], file_format: str | None) -> DataError:
    offered = _offered(folder, file_format)
    if not offered:
        looked = "; ".join(f"{form.title} ({form.examples})" for form in _forms(file_format))
        return DataError(f"{folder}: no translations are known in it; looked for {looked}")
    there = "; ".join(f"{title}: {named(names)}" for title, names in offered.items())
    return DataError(
        f"{folder}: no translations from {sides[0]!r} into {sides[1]!r}; languages there: {there}"
    )


def _only_languages(
    files: Sequence[Path],
    source: str | None,
    file_format: str | None,
    targets: Sequence[str] = (),
) -> tuple[str, str]:
    """The source, English unless it is given, and the only other language of the folders."""
    folders = [path for path in files if path.is_dir()]
    if not folders:
        raise ConfigError(
            f"{files[0]} and others: say which languages they have, such as --source en --target de"
        )
    names = {
        name
        for folder in folders
        for offered in _offered(folder, file_format).values()
        for name in offered
    }
    if not names:
        raise _nothing_found(
            folders[0], (source or USUAL_SOURCE, targets[0] if targets else "de"), file_format
        )
    chosen = source or next((one for one in sorted(names) if one == USUAL_SOURCE), None)
    others = [one for one in names if chosen is None or base_language(one) != base_language(chosen)]
    if chosen is None or (not targets and len(others) != 1):
        known = shown(chosen or USUAL_SOURCE)[1:-1]
        raise ConfigError(
            f"{folders[0]}: it has {named(sorted(names))}; say which are source and target, such "
            f"as --source {known} --target {min(others, default='de')}"
        )
    return chosen, targets[0] if targets else others[0]
