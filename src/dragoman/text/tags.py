"""Tags, which a vocabulary never splits and a model never outputs, and the form of labels.

A tag such as ``<2de>`` in front of a source selects the kind of translation: the target language
(Johnson et al. 2017, arXiv:1611.04558), a domain, a style.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dragoman.text.normalization import normalize

TAG = re.compile(r"<[^<>\s]+>")
LANGUAGE_TAG = re.compile(r"<2([^<>\s]+)>")
"""Tags made by :func:`language_tag`."""
SPACE_SIGN = "\u2581"
"""sentencepiece's sign of a space, which can only be read as such in a text."""

_RESERVED = re.compile(r"<(?:pad|unk|s|/s|0x[0-9A-F]{2})>")


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """``tags`` unchanged, for a validator.

    Raises:
        ValueError: a tag has another form, is one of sentencepiece's symbols, or occurs twice.
    """
    for tag in tags:
        if not _has_form(tag):
            raise ValueError(f"a tag looks like <2de> and is not one of sentencepiece's: {tag!r}")
        if normalize(tag) != tag:
            raise ValueError(f"a tag has no control or decomposed characters: {tag!r}")
    if len(set(tags)) < len(tags):
        raise ValueError("a tag is given twice")
    return tags


def is_tag(text: str) -> bool:
    """Whether ``text`` can be a tag."""
    return _has_form(text) and normalize(text) == text


def _has_form(text: str) -> bool:
    return bool(TAG.fullmatch(text)) and not _RESERVED.fullmatch(text) and SPACE_SIGN not in text


def language_tag(language: str) -> str:
    """The tag that selects a target language: ``<2de>`` for ``de``."""
    return f"<2{language}>"


def tagged(tags: Sequence[str], text: str) -> str:
    """``text`` with ``tags`` in front, as a model reads it."""
    return " ".join([*tags, text] if text else tags)


def missing_tags(wanted: Iterable[str], known: Iterable[str]) -> list[str]:
    """The unknown tags among those wanted, each once and in order."""
    there = set(known)
    return [tag for tag in dict.fromkeys(wanted) if tag not in there]


def label_problem(label: str) -> str | None:
    """Why a text cannot be a label; None if it can."""
    if not label:
        return "a label cannot be empty"
    if label.split() != [label] or normalize(label) != label or set(label) & {*"<>", SPACE_SIGN}:
        return (
            "a label is one word such as en or user-interface, without spaces, < and >: "
            f"{label[:40]!r}"
        )
    return None
