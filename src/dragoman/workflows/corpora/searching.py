"""Searching all lists of corpora that are known without a connection, by language."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from dragoman.core.errors import MissingExtraError
from dragoman.text.corpora.corpus_manifest import corpora
from dragoman.text.corpora.fetched_corpus import ORIGIN_FILE
from dragoman.text.language_codes import common_language
from dragoman.text.public_corpora import corpora_folder, listed_folder
from dragoman.workflows.corpora.listed_corpus import language_pair
from dragoman.workflows.corpora.mtdata_index import PREFIX, MtdataEntry, search
from dragoman.workflows.corpora.storage import is_complete
from dragoman.workflows.progress import tell


class FoundCorpus(NamedTuple):
    """A corpus with text in the languages of a search."""

    name: str
    """As ``dragoman corpora get`` takes it."""
    languages: tuple[str, ...]
    licence: str | None
    """None if its list does not state it."""
    home: str
    """The page about it."""
    citations: tuple[str, ...]
    """What to cite, as BibTeX."""
    present: bool


class Search(NamedTuple):
    """What a search found."""

    corpora: list[FoundCorpus]
    older: int
    """How many older versions of these were left out."""


def search_corpora(
    source: str, target: str, match: str | None = None, *, every_version: bool = False
) -> Search:
    """The corpora of our manifest and of mtdata's list with text in two languages.

    Args:
        match: a part of their names, in any case.
        every_version: whether all versions are listed, not only the newest.

    Raises:
        ConfigError: these are no two languages.
    """
    source, target = language_pair((source, target))
    ours = _ours(source, target)
    try:
        entries = search(source, target)
    except MissingExtraError as error:
        if not ours:
            raise
        tell(f"only our own corpora are listed: {error}")
        entries = []
    newest = entries if every_version else _newest(entries)
    found = [*ours, *map(_found, newest)]
    wanted = (match or "").lower()
    shown = [one for one in found if wanted in one.name.lower()]
    return Search(shown, len(entries) - len(newest))


def _ours(source: str, target: str) -> list[FoundCorpus]:
    wanted = {common_language(source), common_language(target)}
    return [
        FoundCorpus(
            name,
            corpus.languages,
            corpus.licence,
            corpus.home,
            (),
            is_complete(corpus, corpora_folder() / name),
        )
        for name, corpus in corpora().items()
        if wanted <= set(map(common_language, corpus.languages))
    ]


def _found(entry: MtdataEntry) -> FoundCorpus:
    name = PREFIX + entry.name
    folder = listed_folder(name)
    return FoundCorpus(
        name,
        entry.languages,
        entry.facts.get("licence"),
        entry.home,
        tuple(one["bibtex"] for one in entry.references),
        folder is not None and (folder / ORIGIN_FILE).is_file(),
    )


def _newest(entries: list[MtdataEntry]) -> list[MtdataEntry]:
    """The newest version of each corpus and pair of languages, in the order of the index."""
    newest: dict[tuple[str, tuple[str, str]], MtdataEntry] = {}
    for entry in entries:
        key = (entry.title[0], entry.languages)
        if key not in newest or _age(entry) > _age(newest[key]):
            newest[key] = entry
    kept = Counter(entry.name for entry in newest.values())
    return [entry for entry in entries if entry.name in kept]


def _age(entry: MtdataEntry) -> tuple[int, ...]:
    """Numbers by which later versions are greater, such as (20230407,) or (1, 2)."""
    return tuple(map(int, re.findall(r"\d+", entry.title[1])))
