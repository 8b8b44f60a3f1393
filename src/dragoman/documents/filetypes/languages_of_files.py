"""The languages that a file names, compared with those of its translation."""

from __future__ import annotations

from dragoman.core.errors import DataError
from dragoman.documents.document_format import FileLanguages
from dragoman.text.language_codes import base_language, spelling


def is_same_language(one: str, other: str) -> bool:
    """Whether two codes are of one language, regions aside: ``en`` and ``en_GB``."""
    return base_language(one) == base_language(other)


def best_match(wanted: str, found: list[str]) -> int | None:
    """Which of some codes is a language: the same code, or else one of another region."""
    same = [at for at, one in enumerate(found) if spelling(one) == spelling(wanted)]
    near = [at for at, one in enumerate(found) if is_same_language(one, wanted)]
    return next(iter([*same, *near]), None)


def agreed_source(said: str | None, languages: FileLanguages) -> str | None:
    """The language that a file says it is in.

    Raises:
        DataError: the request says another.
    """
    if said and languages.source and not is_same_language(said, languages.source):
        raise DataError(
            f"the file says that it is in {said!r}, not {languages.source!r}; ask for "
            "its own language, or for none"
        )
    return said or None


def check_target(said: str | None, languages: FileLanguages) -> None:
    """Refuse a file whose translations are in another language than that wanted.

    Raises:
        DataError: they are.
    """
    if said and not is_same_language(said, languages.target):
        if languages.source and is_same_language(said, languages.source):
            raise DataError(
                f"the file is for translations into {said!r}, the language of its source; give "
                f"one for {languages.target!r}, or a template, which names no language"
            )
        raise DataError(
            f"the file is for translations into {said!r}, not {languages.target!r}; ask for "
            f"{said!r}, or give a file for {languages.target!r}"
        )
