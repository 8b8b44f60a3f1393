"""Requests to ``/v1``; the page ``/v1/docs`` shows the descriptions of their fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any

from fastapi import UploadFile
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from dragoman.core.config import Config
from dragoman.core.wording import shown
from dragoman.documents.content import ContentFormat
from dragoman.server.parameters import half_character
from dragoman.server.server_config import MOST_ITEMS
from dragoman.text.sentences import SplitMode
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import TextRequest

AUTO = "auto"
"""In place of a source language: it is detected."""

# Limits of fields other than the text to translate.
_CONTEXT = 20_000  # characters
_PREFIX = 2_000
_ENTRIES = 5_000
_TRANSLATIONS = 100  # of a term
_TAGS = 16
_KEYS = 100  # more than any body has


def _in_bounds(most: int) -> BeforeValidator:
    """Refuse more than ``most`` items immediately; pydantic would report each wrong item."""

    def check(value: Any) -> Any:
        if isinstance(value, (list, tuple, dict)) and len(value) > most:
            raise ValueError(f"there are {len(value)}; send at most {most}")
        return value

    return BeforeValidator(check)


def _until_wrong(items: TypeAdapter[Any]) -> BeforeValidator:
    """Cut a list after its first wrong item, so that only this item is reported.

    Reporting a million items takes minutes and gigabytes.  pydantic 2.8 added FailFast for this.
    """

    def cut(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        for place, one in enumerate(value):
            try:
                items.validate_python(one)
            except ValidationError:
                return value[: place + 1]
        return value

    return BeforeValidator(cut)


def _writable(text: str) -> str:
    """Refuse half of a surrogate pair."""
    if (place := half_character(text)) is not None:
        raise ValueError(f"character {place} is half of a surrogate pair; send the whole pair")
    return text


def _as_several(value: Any) -> Any:
    """A string as a list of one item; later validators check other values."""
    if not isinstance(value, (str, list, tuple)):
        raise ValueError("Input should be a string or a list of strings")
    return (value,) if isinstance(value, str) else value


def _as_terms(value: Any) -> Any:
    """Terms that a form sends as JSON; later validators check other values."""
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return value
    try:
        return json.loads(value)
    except RecursionError:
        raise ValueError("there are objects in objects; send terms and translations") from None
    except ValueError as error:
        raise ValueError(f"it begins like a JSON object, but is none: {error}") from None


def _each_once(value: Any) -> Any:
    """Refuse terms with different translations that differ only in surrounding white space."""
    found: dict[str, Any] = {}
    for term, translation in value.items() if isinstance(value, dict) else ():
        if not isinstance(term, str):
            continue  # refused by a later check
        if found.setdefault(term.strip(), translation) != translation:
            raise ValueError(
                f"the term {shown(term.strip())} has two translations; send one of them"
            )
    return value


def _any(terms: tuple[str, ...]) -> tuple[str, ...]:
    if not terms:
        raise ValueError("there is no translation in the list")
    return terms


def _example(body: dict[str, Any]) -> ConfigDict:
    """The configuration of a model with an example for the page."""
    return ConfigDict(json_schema_extra={"examples": [body]})


_ONE_OR_SEVERAL = WithJsonSchema(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
Text = Annotated[str, AfterValidator(_writable)]
Texts = Annotated[
    tuple[Text, ...],
    _until_wrong(TypeAdapter(Text)),
    _in_bounds(MOST_ITEMS),
    BeforeValidator(_as_several),
    _ONE_OR_SEVERAL,
]
Code = Annotated[str, StringConstraints(min_length=1, max_length=35)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_writable)]
Term = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1_000, strip_whitespace=True),
    AfterValidator(_writable),
]
Terms = Annotated[
    tuple[Term, ...],
    AfterValidator(_any),
    _until_wrong(TypeAdapter(Term)),
    _in_bounds(_TRANSLATIONS),
    BeforeValidator(_as_several),
    _ONE_OR_SEVERAL,
]
TermsOrName = Annotated[
    Annotated[
        dict[Term, Terms],
        Field(max_length=_ENTRIES),
        BeforeValidator(_each_once),
        _in_bounds(_ENTRIES),
        Tag("terms"),
    ]
    | Annotated[Name, Tag("name")],
    Discriminator(lambda value: "name" if isinstance(value, str) else "terms"),
]


class Body(Config):
    """Base of what clients send."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_keys(cls, values: Any) -> Any:
        if isinstance(values, dict) and len(values) > _KEYS:
            raise ValueError(f"there are {len(values)} keys; send at most {_KEYS}")
        return values


class RequestOptions(Body):
    """How texts and files are translated."""

    target: Code
    """Language to translate into, such as `de`; a region is dropped if nothing translates into it.
    """
    source: Code | None = None
    """Language of the text; null or `auto`: it is detected."""
    split: SplitMode = "sentences"
    """Where the text is divided: at the ends of `sentences` and lines, at those of sentences alone
    (`flowing`) or of lines alone (`paragraphs`), or not at all (`none`)."""
    tags: Annotated[tuple[Name, ...], _until_wrong(TypeAdapter(Name)), _in_bounds(_TAGS)] = Field(
        (), max_length=_TAGS
    )
    """Tags that the model knows, such as `<formal>`; `/v1/languages` lists them."""
    glossary: TermsOrName | None = None
    """Terms that must be used: their translations, such as `{"house": "Haus"}`, with a list where
    several will do; or the `id` of a kept glossary, which needs `source`."""
    context: Text = Field("", max_length=_CONTEXT)
    """Text in front of this one, for models trained to read it; it is not translated."""
    memory: bool = True
    """Whether a sentence with an accepted correction gets that correction."""

    @property
    def given_source(self) -> str | None:
        """The source language; None: detected."""
        return None if self.source == AUTO else self.source

    def request(self, text: str, glossary: Glossary | None) -> TextRequest:
        """The request to the service for a text, with the options that the service knows."""
        known = type(self).model_fields.keys() & {field.name for field in fields(TextRequest)}
        options = {name: getattr(self, name) for name in known - {"text", "source", "glossary"}}
        return TextRequest(text=text, source=self.given_source, glossary=glossary, **options)


class TextOptions(RequestOptions):
    """How a text is translated."""

    nbest: int = Field(1, ge=1)
    """Number of translations of each sentence, the best first."""
    prefix: Text = Field("", max_length=_PREFIX)
    """What the translation begins with, for a text of one sentence."""
    links: bool = False
    """Whether to tell which words translate which."""
    token_scores: bool = False
    """Whether to give the log-probability of each piece of the translations."""


class TranslateBody(TextOptions):
    """Texts to translate in the same way."""

    model_config = _example({"text": ["Good morning.", "How are you?"], "target": "de", "nbest": 2})

    text: Texts
    """A text of any length, or a list of such texts."""
    format: ContentFormat = "text"
    """`html` and `xml`: tags are kept, and what is between them is translated."""

    def conflicts(self) -> Iterator[str]:
        """Options that only plain text has."""
        if self.format != "text":
            yield from self.unread(
                f"with format: {self.format}", "nbest", "prefix", "links", "token_scores"
            )


class StreamBody(TextOptions):
    """A text whose sentences are wanted one by one."""

    model_config = _example({"text": "Good morning. How are you?", "target": "de"})

    text: Text
    """A text of any length."""


class DetectBody(Body):
    """Texts in unknown languages."""

    model_config = _example({"text": "Guten Morgen."})

    text: Texts
    """A text, or a list of texts."""


class CorrectionBody(Body):
    """A better translation."""

    model_config = _example(
        {
            "text": "Good morning.",
            "translation": "Guten Morgen.",
            "source": "en",
            "target": "de",
        }
    )

    text: Annotated[Text, StringConstraints(min_length=1, max_length=_CONTEXT)]
    """The sentence, or text, that was translated."""
    translation: Annotated[Text, StringConstraints(min_length=1, max_length=_CONTEXT)]
    """How it should be translated."""
    source: Code
    """Language of the text."""
    target: Code
    """Language of the translation."""

    def conflicts(self) -> Iterator[str]:
        """Texts with only white space."""
        for name in ("text", "translation"):
            if not getattr(self, name).strip():
                yield f"{name}: there is nothing but white space"


class GlossaryBody(Body):
    """Terms to keep for one direction."""

    model_config = _example(
        {"name": "Houses", "source": "en", "target": "de", "entries": {"house": "Haus"}}
    )

    name: Name
    """What people call it."""
    source: Code
    """Language of the terms."""
    target: Code
    """Language of their translations."""
    entries: Annotated[
        dict[Term, Term],
        Field(min_length=1, max_length=_ENTRIES),
        BeforeValidator(_each_once),
        _in_bounds(_ENTRIES),
    ]
    """Terms and their translations, such as `{"house": "Haus"}`."""


class DocumentForm(RequestOptions):
    """A file, as a form sends it."""

    file: UploadFile
    """The file; its name tells its format."""
    glossary: Annotated[TermsOrName, BeforeValidator(_as_terms)] | None = None
    """Terms that must be used, as JSON: their translations, such as `{"house": "Haus"}`; or the
    `id` of a kept glossary, which needs `source`."""
