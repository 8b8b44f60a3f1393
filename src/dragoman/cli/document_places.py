"""Sources of a command's documents, and destinations of their translations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from dragoman.cli.option_types import STREAM
from dragoman.cli.options import check_no_input, is_directory
from dragoman.core.errors import ConfigError, DataError, DragomanError

_REVIEW = ".xlf"
"""Suffix of translations for review."""
_REMEDY = "replace it with --force, or name another --output"


class DocumentPlaces:
    """Sources of documents, and destinations of their translations.

    Args:
        form: of ``--format``.
        is_review: whether the translations are written as XLIFF.
        read: other input files, which must also stay unchanged.
    """

    def __init__(
        self,
        documents: tuple[Path, ...],
        output: str | None,
        form: str | None,
        read: Sequence[Path] = (),
        *,
        replaces: bool,
        is_review: bool = False,
    ) -> None:
        self.documents, self._read, self._replaces = documents, read, replaces
        self.is_review = is_review
        self._output = path = None if output is None else Path(output)
        self._fills_directory = len(documents) > 1 or (output is not None and is_directory(output))
        self._suffix = None if form is None else "." + form.lower().removeprefix(".")
        if STREAM in documents and form is None:
            raise click.UsageError("-: say by --format, such as md, what standard input is")
        if len(documents) > 1 and (documents.count(STREAM) or path == STREAM):
            raise click.UsageError("- is for one document at a time; name the others by themselves")
        if self._fills_directory and path is not None and path.exists() and not path.is_dir():
            raise click.UsageError(
                f"--output {output}: there is a file of this name; name a directory"
            )
        self.writes_stream = path == STREAM or (path is None and STREAM in documents)

    def name(self, document: Path) -> str:
        """The name of a document, with the suffix of its format."""
        if self._suffix is None:
            return document.name
        return f"{document.stem if document != STREAM else 'document'}{self._suffix}"

    def read(self, document: Path) -> bytes:
        """The content of a document."""
        try:
            if document == STREAM:
                return sys.stdin.buffer.read()
            return document.read_bytes()
        except OSError as error:
            raise DataError(
                f"{named_document(document)}: cannot be read: {error.strerror}"
            ) from error

    def output(self, document: Path, target: str) -> Path:
        """The destination of a document's translation."""
        if self.writes_stream:
            return STREAM
        path = Path(self.name(document))
        name = f"{path.stem}.{target}{path.suffix}{_REVIEW if self.is_review else ''}"
        if self._output is None:
            return document.with_name(name)
        if self._fills_directory:
            return self._output / name
        return self._output

    def check(self, target: str) -> dict[Path, DragomanError]:
        """The documents that cannot be translated, as far as names show it, with the reasons."""
        outputs = [self.output(document, target) for document in self.documents]
        files = [path for path in self.documents if path != STREAM]
        for at, output in enumerate(outputs):
            if output == STREAM:
                continue
            check_no_input(output, [*files, *self._read])
            if output in outputs[:at]:
                raise ConfigError(
                    f"{output}: two documents would be written there; translate them one by one"
                )
        refused: dict[Path, DragomanError] = {}
        for document, output in zip(self.documents, outputs, strict=True):
            try:
                self._check_one(document, output)
            except DragomanError as error:
                refused[document] = error
        return refused

    def _check_one(self, document: Path, output: Path) -> None:
        """Refuse a document that cannot be read, or whose translation cannot be written."""
        from dragoman.documents.filetypes import document_format

        try:
            form = document_format(self.name(document))
        except DataError as error:
            raise DataError(f"{named_document(document)}: {error}") from error
        if document != STREAM and not document.exists():
            raise DataError(f"{document}: no such file")
        suffixes = form.suffixes
        if self.is_review:
            if _REVIEW in suffixes:
                raise ConfigError(
                    f"{named_document(document)}: this is XLIFF; leave out --to-format"
                )
            suffixes = (_REVIEW, ".xliff")
        if output == STREAM:
            return
        if output.suffix.lower() not in suffixes and output.suffix:
            said = f"the translation of a {suffixes[0]} file is one, too"
            if self.is_review:
                said = f"--to-format xliff writes {suffixes[0]} files"
            raise ConfigError(f"--output {output}: {said}; change the suffix")
        if output.is_file() and not self._replaces:
            raise ConfigError(f"{output}: exists already; {_REMEDY}")

    def known(self, document: Path) -> bytes | None:
        """A file with translations of some strings of a document, which stay."""
        return None

    def is_written(self, texts: int) -> bool:
        """Whether a document is written that had some number of texts to translate."""
        return True

    def write(self, output: Path, content: bytes) -> None:
        """Write a translation, whole or not at all."""
        from dragoman.core.claims import new_output
        from dragoman.core.files import atomic_write

        if output == STREAM:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        is_new = not self._replaces and (output.is_file() or not output.exists())
        with (
            new_output(output, _REMEDY) if is_new else nullcontext(),
            atomic_write(output, "wb") as stream,
        ):
            stream.write(content)


def named_document(document: Path) -> str:
    """The name of a document in messages."""
    return "standard input" if document == STREAM else str(document)
