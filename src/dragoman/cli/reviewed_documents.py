"""Documents of reviewed files: `dragoman convert REVIEWED.xlf DOCUMENT`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from dragoman.core.claims import new_output
from dragoman.core.errors import DataError
from dragoman.core.files import atomic_write
from dragoman.workflows.progress import tell
from dragoman.workflows.results import print_json

log = logging.getLogger(__name__)

_SHOWN = 60
"""Characters of a text that messages show."""


def holds_document(paths: Sequence[Path]) -> bool:
    """Whether of two files, the first has a document of the suffix of the second.

    Raises:
        DataError: it has one of another suffix, and the second is no file of pairs either; or it
            cannot be read.
    """
    from dragoman.documents.review.review_files import document_name
    from dragoman.text.formats import FormatError, format_of

    if len(paths) != 2 or paths[0].suffix.lower() not in (".xlf", ".xliff"):
        return False
    if not paths[0].is_file():
        return False
    try:
        name = document_name(paths[0].read_bytes())
    except OSError as error:
        raise DataError(f"{paths[0]}: cannot be read: {error.strerror}") from error
    except DataError as error:
        raise DataError(f"{paths[0]}: {error}") from error
    if name is None:
        return False
    if Path(name).suffix.lower() == paths[1].suffix.lower():
        return True
    try:
        format_of(paths[1])
    except FormatError as error:
        raise DataError(
            f"{paths[1]}: the file has the document {name}; name an output that ends in "
            f"{Path(name).suffix}, or one for pairs, such as pairs.tsv"
        ) from error
    return False


def write_reviewed(path: Path, output: Path, *, as_json: bool) -> None:
    """Write the document of a reviewed file.

    Raises:
        DataError: the file is damaged, or a text has no translation; it is written all the same
            then, with this text in the language of the source.
    """
    from dragoman.documents.review.review_files import reviewed_document

    with new_output(output, "move it away or name another output file"):
        try:
            reviewed = reviewed_document(path.read_bytes())
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        with atomic_write(output, "wb") as stream:
            stream.write(reviewed.content)
    for one in reviewed.untranslated:
        log.warning("%s: %r: %s; it is left as it is", path, one.text[:_SHOWN], one.reason)
    if as_json:
        left = [{"text": one.text, "reason": one.reason} for one in reviewed.untranslated]
        print_json(
            {
                "output": [str(output)],
                "document": reviewed.name,
                "texts": reviewed.texts,
                "changed": reviewed.changed,
                "untranslated": left,
            }
        )
    else:
        tell(f"{output}: {reviewed.texts:,} texts, {reviewed.changed:,} of them changed in review")
    if reviewed.untranslated:
        raise DataError(
            f"{path}: {len(reviewed.untranslated):,} texts have no translation and stayed in the "
            f"source language; the first is {reviewed.untranslated[0].text[:_SHOWN]!r}"
        )
