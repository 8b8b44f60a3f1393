"""Documents of a command line, and those of a project with its places for translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from typing_extensions import override

from dragoman.cli.document_places import DocumentPlaces
from dragoman.core.errors import ConfigError, DataError, DragomanError
from dragoman.core.files import atomic_write, make_directory
from dragoman.core.wording import named

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.text.formats.projects.project_folder import FileToTranslate, ProjectFolder


class TreePlaces(DocumentPlaces):
    """The files of a folder; each translation is called as the project calls it.

    Translations that are there already stay.

    Args:
        languages: of the source and the translation.
        read: input files beside those of the project, which stay unchanged.

    Raises:
        DataError: the folder has nothing in the language of the source.
    """

    def __init__(self, folder: Path, languages: tuple[str, str], read: Iterable[Path] = ()) -> None:
        from dragoman.text.formats import project_formats

        self._files: dict[Path, tuple[ProjectFolder, FileToTranslate]] = {}
        for form in project_formats():
            for file in form.files_to_translate(folder, languages):
                self._files.setdefault(file.output, (form, file))
        if not self._files:
            raise DataError(f"{folder}: {_nothing(folder, languages)}")
        self._earlier: dict[Path, bytes | None] = {}
        super().__init__(tuple(self._files), None, None, list(read), replaces=True)

    @override
    def read(self, document: Path) -> bytes:
        form, file = self._files[document]
        self._earlier[document] = _content(document)  # before the content, which may be the same
        return form.content(file)

    @override
    def known(self, document: Path) -> bytes | None:
        _, file = self._files[document]
        if file.source == file.output:  # whose own translations stay
            return None
        return self._earlier[document]

    @override
    def is_written(self, texts: int) -> bool:
        return texts > 0

    @override
    def output(self, document: Path, target: str) -> Path:
        return document

    @override
    def check(self, target: str) -> dict[Path, DragomanError]:
        return {}

    @override
    def write(self, output: Path, content: bytes) -> None:
        # Translating takes minutes, in which an editor or "git pull" may have written the file.
        if _content(output) != self._earlier[output]:
            raise DataError(
                f"{output}: changed while it was being translated; it stays as it is now; run the "
                "command again"
            )
        make_directory(output.parent, output)
        with atomic_write(output, "wb") as stream:
            stream.write(content)


def _content(file: Path) -> bytes | None:
    """The content of a file, or None if there is none."""
    return file.read_bytes() if file.is_file() else None


def _nothing(folder: Path, languages: tuple[str, str]) -> str:
    from dragoman.text.formats import project_formats

    if not folder.is_dir():
        return "not a folder" if folder.exists() else "no such folder"
    offered = {form.title: form.offered_sides(folder) for form in project_formats()}
    there = [f"{title}: {named(names)}" for title, names in offered.items() if names]
    return (
        f"no files to translate from {languages[0]!r} into {languages[1]!r}; languages there: "
        f"{'; '.join(there) or 'none'}"
    )


def document_places(
    system: TranslationSystem,
    documents: tuple[Path, ...],
    output: str | None,
    options: dict[str, Any],
    read: Sequence[Path],
) -> DocumentPlaces:
    """The documents of a command line: files, or with ``--tree`` those of a project."""
    if (tree := options["tree"]) is None:
        form = options["document_format"]
        return DocumentPlaces(
            documents,
            output,
            form,
            read,
            replaces=options["force"],
            is_review=options["to_format"] is not None,
        )
    given = [options[name] for name in ("document_format", "to_format", "force")]
    if documents or output is not None or any(given):
        raise click.UsageError(
            "--tree translates the files of a project into files of this project; leave out FILE, "
            "--output, --format, --to-format and --force"
        )
    return TreePlaces(tree, _tree_languages(system), read)


def _tree_languages(system: TranslationSystem) -> tuple[str, str]:
    """The languages of a system; those of its model if it has only these."""
    from dragoman.saved.directions import language_pairs
    from dragoman.saved.model import config_of

    pairs = language_pairs(config_of(system.models[0]))
    named = ("--from", system.source_language), ("--to", system.target_language)
    found = []
    for place, (option, language) in enumerate(named):
        known = sorted({pair[place] for pair in pairs})
        if language is None and len(known) > 1:
            raise ConfigError(f"{system.models[0]}: has {', '.join(known)}; choose by {option}")
        found.append(language or known[0])
    return found[0], found[1]
