"""Fetched corpora as parts of a recipe, ready to be copied into it."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.config import to_yaml
from dragoman.text.corpora.fetched_corpus import FetchedCorpus, text_file
from dragoman.text.language_codes import common_language
from dragoman.text.public_corpora import corpora_folder, listed_folder


def recipe_part(corpora: Sequence[tuple[FetchedCorpus, tuple[str, str]]]) -> str:
    """Languages and ``data`` of a recipe with all sets of corpora, and the origin of each.

    Args:
        corpora: each with the languages of source and target, in their order.
    """
    source, target = corpora[0][1]
    lines = [f"source_language: {source}", f"target_language: {target}", "data:"]
    for section in ("train", "dev", "test"):
        parts = [
            (corpus, split, sides)
            for corpus, sides in corpora
            for split in corpus.splits
            if (split if split in {"dev", "test"} else "train") == section
        ]
        if parts:
            lines.append(f"  {section}:")
        for number, (corpus, split, sides) in enumerate(parts, 1):
            lines += [f"    # {line}" for line in _origin(corpus, split)]
            values = to_yaml(_part(corpus, split, sides)).splitlines()
            if section == "train":
                lines += [f"    {'-' if line is values[0] else ' '} {line}" for line in values]
            else:
                lines.append(f"    {section}{number}:")
                lines += [f"      {line}" for line in values]
    return "\n".join(lines) + "\n"


def _origin(corpus: FetchedCorpus, split: str) -> list[str]:
    """Where a set is from, a line for each file."""
    lines = corpus.texts[text_file(split, corpus.languages[0])].lines
    files = [f"{file.url} SHA-256 {file.sha256}" for file in corpus.downloads]
    return [f"{corpus.name}: {lines:,} pairs, {corpus.retrieved}, {corpus.home}", *files]


def _part(corpus: FetchedCorpus, split: str, sides: tuple[str, str]) -> dict[str, str]:
    """The settings of a part."""
    folder = listed_folder(corpus.name)
    assert folder is not None
    place = f"corpora/{folder.relative_to(corpora_folder()).as_posix()}"
    files = [f"{place}/{text_file(split, _language(corpus, side))}" for side in sides]
    licence = {} if corpus.licence is None else {"licence": corpus.licence}
    return {"source": files[0], "target": files[1], **licence}


def _language(corpus: FetchedCorpus, side: str) -> str:
    """A language, as the corpus's files are called."""
    first, second = corpus.languages
    return first if common_language(first) == common_language(side) else second
