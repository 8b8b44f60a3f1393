"""The codes such as ``>>deu<<`` by which OPUS-MT's models of several languages are asked for one.

Tiedemann and Thottingal 2020, "OPUS-MT: Building open translation services for the World".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.text.examples import Direction
from dragoman.text.tags import LANGUAGE_TAG, language_tag
from dragoman.text.vocabularies import Vocabulary

_CODE = re.compile(r">>([^<>\s]+)<<")


def code_tags(pieces: Iterable[str]) -> dict[str, str]:
    """Our tags of the pieces that are codes."""
    return {code: language_tag(code[2:-2]) for code in filter(_CODE.fullmatch, pieces)}


def directions_into(source: str, target: str, vocabulary: Vocabulary) -> tuple[Direction, ...]:
    """A direction into each language that has a tag; the only direction without tags."""
    pieces = vocabulary.pieces(vocabulary.language_tags)
    into: dict[str, tuple[str, ...]] = {
        tag[1]: (tag[0],) for tag in map(LANGUAGE_TAG.fullmatch, pieces) if tag
    }
    return tuple(
        Direction(source_language=source, target_language=language, tags=tags)
        for language, tags in (into or {target: ()}).items()
    )
