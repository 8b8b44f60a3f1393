"""The files of a corpus as a recipe names them, and their format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from dragoman.core.config import Config
from dragoman.core.relocation import PathMark, TextPath
from dragoman.text.formats import FORMATS, Format, format_named, format_of, format_of_two
from dragoman.text.sacrebleu_sets import set_files

_FILE_ALONE = PathMark("text", unless="path")  # beside a path, it is a column, key or language


class CorpusFiles(Config):
    """Two plain files, one file with both sides, a folder of a project, or a set by name."""

    path: TextPath | None = None
    """A file with both sides: TSV with a header, JSONL, TMX, PO or XLIFF. With a `format` such as
    `po-files`, the folder of a project, whose files are read when the text is prepared. Without
    `path`, `source` and `target` are two plain files, aligned line by line, or two SGM files. Files
    may be compressed by gzip, xz or zstd; `corpora/NAME/FILE` may be a file of the public corpus
    NAME."""
    source: Annotated[str | None, _FILE_ALONE] = None
    """Column, key or language of the source; without `path`, the file of the source lines. Leave it
    out for a language model, which reads only the target."""
    target: Annotated[str | None, _FILE_ALONE] = None
    """The same for the target."""
    sacrebleu: str | None = None
    """Name and language pair of a test set of sacrebleu, such as `wmt22/en-de`, in place of files.
    It is downloaded at its first use; translations are scored against all of its references."""
    weight: float = Field(default=1.0, ge=1e-6, le=1e6)
    """How often each pair is seen per epoch: 2 is twice, 0.5 every other epoch. An epoch must see
    at least one pair. A vocabulary is trained on pairs in the same proportion."""
    format: str | None = Field(default=None, examples=list(FORMATS))
    """The format of the file; by default, its suffix decides. Installed packages may add others."""

    unreviewed: bool = False
    """Also read unreviewed translations: fuzzy messages of PO, and XLIFF in the state
    `needs-review-translation`."""
    licence: str | None = None
    """Licence of the text, such as `CC-BY-4.0`, for the model card; the licence of a public corpus
    is known."""

    @field_validator("format")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        if value is not None:
            format_named(value)
        return value

    @property
    def file_format(self) -> Format:
        """The format as given, or else that of the suffix."""
        form = self._file_format
        return form.with_unreviewed() if self.unreviewed else form

    @property
    def _file_format(self) -> Format:
        if self.format is not None:
            return format_named(self.format)
        if self.path is None:
            return format_of_two(Path(self.target or self.source or ""))
        return format_of(Path(self.path))

    @property
    def name(self) -> str:
        """A short label for reports: the file and its folder, or the name of a test set."""
        if self.sacrebleu is not None:
            return self.sacrebleu
        first, *second = self.paths()
        label = "/".join([first.parent.name, first.name] if first.parent.name else [first.name])
        return " + ".join([label, *(path.name for path in second)])

    def files(self) -> list[Path]:
        """The files that are read: those of :meth:`paths`, or those in a folder."""
        if self.path is None or not self.file_format.is_folder:
            return self.paths()
        return self.file_format.files(Path(self.path), (self.source or "", self.target or ""))

    def paths(self) -> list[Path]:
        """What the format reads: one path, or the files of the source (if any) and the target."""
        if self.sacrebleu is not None:
            found = set_files(self.sacrebleu)
            return [found.source, found.references[0]]
        names = (self.source, self.target) if self.path is None else (self.path,)
        return [Path(name) for name in names if name is not None]

    def more_references(self) -> list[Path]:
        """Files of further references, which translations are scored against as well."""
        return [] if self.sacrebleu is None else list(set_files(self.sacrebleu).references[1:])
