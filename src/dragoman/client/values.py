"""The values that a client returns, made from the answers of ``/v1``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dragoman.translation.service.translated_text import (
    Detection,
    Link,
    Rendering,
    TokenScore,
    TranslatedSentence,
    TranslatedText,
)

Json = Mapping[str, Any]


@dataclass(frozen=True)
class LanguageOffer:
    """A language that a server translates from."""

    code: str
    name: str
    """In English."""
    targets: tuple[str, ...]
    """Codes of its target languages."""
    tags: Mapping[str, tuple[str, ...]]
    """The tags available for translations, by target language."""


@dataclass(frozen=True)
class GlossaryOffer:
    """A glossary that a server keeps."""

    id: str
    """Argument of ``translate(glossary=...)``."""
    name: str
    created: datetime
    entries: Mapping[tuple[str, str], Mapping[str, str] | None]
    """By source and target language; None where glossaries are listed."""


@dataclass(frozen=True)
class CharacterUsage:
    """The usage of a key in this calendar month (UTC)."""

    characters: int
    characters_per_month: int | None
    """None: unlimited."""


@dataclass(frozen=True)
class DocumentState:
    """A file that is being translated, or has been."""

    id: str
    secret: str | None
    """Only in the answer to sending the file."""
    state: str
    progress: float | None
    message: str | None


def text_of(answer: Json) -> TranslatedText:
    """A translated text."""
    return TranslatedText(
        answer["text"],
        answer["source"],
        answer["target"],
        detection_of(answer["detection"]),
        tuple(map(sentence_of, answer["sentences"])),
    )


def sentence_of(answer: Json) -> TranslatedSentence:
    """A sentence with its translations."""
    return TranslatedSentence(
        answer["source"],
        answer["start"],
        tuple(map(_rendering_of, answer["renderings"])),
        answer["target_start"],
    )


def _rendering_of(answer: Json) -> Rendering:
    return Rendering(
        answer["text"],
        answer["score"],
        answer["confidence"],
        tuple(Link(*link) for link in answer["links"]),
        answer["from_memory"],
        missing=tuple(answer.get("missing", ())),
        invented=tuple(answer.get("invented", ())),
        token_scores=tuple(TokenScore(*one) for one in answer.get("token_scores", ())),
    )


def detection_of(answer: Json | None) -> Detection | None:
    """A detected language."""
    return None if answer is None else Detection(answer["language"], answer["probability"])


def language_of(answer: Json) -> LanguageOffer:
    """A language."""
    tags = {target: tuple(each) for target, each in answer["tags"].items()}
    return LanguageOffer(answer["code"], answer["name"], tuple(answer["targets"]), tags)


def glossary_offer_of(answer: Json) -> GlossaryOffer:
    """A glossary."""
    entries = {
        (dictionary["source"], dictionary["target"]): dictionary["entries"]
        for dictionary in answer["dictionaries"]
    }
    created = datetime.fromisoformat(answer["created"].replace("Z", "+00:00"))
    return GlossaryOffer(answer["id"], answer["name"], created, entries)


def document_state_of(answer: Json) -> DocumentState:
    """The state of a file."""
    return DocumentState(*(answer[one] for one in ("id", "secret", "state", "progress", "message")))
