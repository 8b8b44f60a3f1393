"""Word translations from a file: a dictionary for learning or measuring a mapping.

The name and content of a file tell three kinds apart:

- one pair per line, separated by a tab;
- the same separated by a space, as in the dictionaries of MUSE (Conneau et al. 2018,
  arXiv:1710.04087);
- a dictionary for dictd (RFC 2229), such as those of FreeDict that distributions package as
  ``dict-freedict-deu-eng``: an index and, beside it, the articles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.lines import open_bytes, read_lines
from dragoman.text.normalization import normalize

Dictionary = dict[str, tuple[str, ...]]
"""Translations of each word, in the order of the file."""

_INDEX = ".index"
_ARTICLES = (".dict.dz", ".dict")
_DIGITS = {sign: value for value, sign in enumerate(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)}  # fmt: skip
_MOST_DIGITS = 10  # of 6 bits each
# Additions of a FreeDict article to a translation: grammar, region or field, and an explanation.
_REMARK = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)")
_NUMBER = re.compile(r"\s?\d+\.\s")
# Examples, notes and references, and a second headword with its pronunciation.
_OTHER_LINE = re.compile(r"\s{2,}| see: |.*(?:^|\s)/[^/]+/")


def read_dictionary(path: Path, wanted: Collection[str] | None = None) -> Dictionary:
    """Reads a dictionary; a dictd one gives the single words of its single-word articles.

    Args:
        wanted: keep only these words, in any case; by default, all.
    """
    kept = None if wanted is None else {word.casefold() for word in wanted}
    found: dict[str, dict[str, None]] = {}
    for word, translation in _pairs(path, kept):
        if kept is None or word.casefold() in kept:
            found.setdefault(word, {})[translation] = None
    return {word: tuple(translations) for word, translations in found.items()}


def _pairs(path: Path, wanted: Collection[str] | None) -> Iterator[tuple[str, str]]:
    for suffix in (_INDEX, *_ARTICLES):
        if path.name.endswith(suffix):
            stem = path.name.removesuffix(suffix)
            return _articles(path.with_name(stem + _INDEX), wanted)
    return _lines(path)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a file with one pair per line; empty lines are skipped."""
    for number, line in enumerate(read_lines(path), 1):
        fields = [normalize(one) for one in line.split("\t")] if "\t" in line else line.split()
        if fields in ([], ["", ""]):
            continue
        if len(fields) != 2 or not all(fields):
            raise DataError(
                f"{path}:{number}: expected a word and its translation with a tab between them, "
                f"found {line!r:.60}; correct the line"
            )
        yield normalize(fields[0]), normalize(fields[1])


def _articles(index: Path, wanted: Collection[str] | None) -> Iterator[tuple[str, str]]:
    places = list(_places(index, wanted))
    base = index.name.removesuffix(_INDEX)
    beside = [index.with_name(base + suffix) for suffix in _ARTICLES]
    path = next((one for one in beside if one.is_file()), beside[0])
    with open_bytes(path) as stream:
        content = stream.read()
    for start, length in dict.fromkeys(places):
        article = content[start : start + length]
        try:
            lines = article.decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: an article is not UTF-8 at byte {start}") from error
        if len(article) < length:
            raise DataError(f"{path}: shorter than {index} says; install the dictionary again")
        # The index has headwords in lower case, the article has their original case.
        headword = normalize(re.split(r" /| <|\(", lines[0], maxsplit=1)[0]) if lines else ""
        if headword and " " not in headword:
            yield from ((headword, word) for word in _translations(lines[1:]))


def _places(index: Path, wanted: Collection[str] | None) -> Iterator[tuple[int, int]]:
    """Offsets and lengths in bytes of the articles of wanted words."""
    for number, line in enumerate(read_lines(index), 1):
        fields = line.split("\t")
        if len(fields) < 3 or not all(map(_is_number, fields[1:3])):
            raise DataError(
                f"{index}:{number}: expected a word, a place and a length, found {line!r:.60}; is "
                "this the index of a dictd dictionary?"
            )
        word = fields[0].casefold()
        if word.startswith("00-database") or (wanted is not None and word not in wanted):
            continue
        yield _number(fields[1]), _number(fields[2])


def _is_number(text: str) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and set(text) <= _DIGITS.keys()


def _number(text: str) -> int:
    number = 0
    for sign in text:
        number = 64 * number + _DIGITS[sign]
    return number


def _translations(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if _OTHER_LINE.match(line):
            continue
        for item in _REMARK.sub("", _NUMBER.sub("", line, count=1)).split(","):
            word = normalize(item).strip(" !?;")
            if word and " " not in word:
                yield word
