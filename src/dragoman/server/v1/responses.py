"""Responses of ``/v1``; the page ``/v1/docs`` shows the descriptions of their fields."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from dragoman.core.config import Config
from dragoman.server.database.records import (
    CorrectionState,
    DocumentJob,
    JobState,
    KeptGlossary,
)
from dragoman.translation.service.interface import (
    RefusalKind,
    RefusedError,
)


class Answer(Config):
    """Base of responses, which are made from objects with attributes of the same names."""

    model_config = ConfigDict(
        from_attributes=True, allow_inf_nan=True, use_attribute_docstrings=True
    )


class Problem(Answer):
    """Why a request is refused."""

    kind: RefusalKind
    """For programs."""
    message: str
    """For people: what is wrong, and what to do."""
    retry_after: float | None = None
    """Seconds after which the same request may succeed; null: it never will."""

    @classmethod
    def of(cls, error: RefusedError) -> Problem:
        """The problem of an error."""
        return cls(kind=error.kind, message=str(error), retry_after=error.retry_after)


class ErrorAnswer(Answer):
    """The answer to a request that is refused."""

    error: Problem


class DetectedLanguage(Answer):
    """A language that a text may be in."""

    language: str
    probability: float
    """From 0 to 1, among the languages that the server knows."""


class RenderingAnswer(Answer):
    """One translation of a sentence."""

    text: str
    score: float | None
    """As the search ranks translations, the higher the better; null if a correction answers."""
    confidence: float | None
    """Probability that it is right; null if the model is not calibrated."""
    links: tuple[tuple[int, int, int, int], ...]
    """Words that translate words: start and end in the source, start and end in the translation, in
    characters of the sentence; empty unless asked for."""
    from_memory: bool
    """Whether it is an accepted correction."""
    missing: tuple[str, ...]
    """Terms and copied strings that it should have and lacks; check it if there are any."""
    invented: tuple[str, ...]
    """Placeholders, tags and addresses that it has and the sentence lacks."""
    token_scores: tuple[tuple[str, float], ...]
    """Its pieces, and at last the end symbol, each with the natural logarithm of its probability;
    empty unless asked for."""


class SentenceAnswer(Answer):
    """A sentence and its translations."""

    source: str
    """The sentence as it is in the text."""
    start: int
    """Where it begins in the text, in characters."""
    target_start: int
    """Where its best translation begins in the translated text, in characters."""
    renderings: tuple[RenderingAnswer, ...]
    """Its translations, the best first."""


class TextAnswer(Answer):
    """A translated text."""

    text: str
    """The translation."""
    source: str
    """Language of the source, given or detected."""
    target: str
    """Language of the translation."""
    detection: DetectedLanguage | None
    """How sure the language of the source is; null if it was given."""
    alternatives: tuple[str, ...]
    """Other translations of the whole text, with `nbest` above 1."""
    sentences: tuple[SentenceAnswer, ...]
    """The sentences of the text; none with markup."""


class TranslateAnswer(Answer):
    """Translations of texts."""

    translations: tuple[TextAnswer, ...]
    """One for each text, in the same order."""


class StreamEvent(Answer):
    """A line of a stream."""

    kind: Literal["start", "sentence", "end", "error"]
    """`start` is first, `end` or `error` last; a stream without either was cut off."""
    source: str | None = None
    """Of `start`: language of the text, given or detected."""
    target: str | None = None
    """Of `start`: language of the translation, as asked for."""
    detection: DetectedLanguage | None = None
    """Of `start`: how sure the language of the text is; null if it was given."""
    sentence: SentenceAnswer | None = None
    """Of `sentence`."""
    error: Problem | None = None
    """Of `error`."""


class DetectAnswer(Answer):
    """Languages of texts."""

    detections: tuple[tuple[DetectedLanguage, ...], ...]
    """For each text the languages that it may be in, the most probable first."""


class LanguageAnswer(Answer):
    """A language that the server translates from."""

    code: str
    name: str
    """In English."""
    targets: tuple[str, ...]
    """Codes of the languages that it is translated into."""
    tags: dict[str, tuple[str, ...]]
    """By target language, the tags that requests may ask for; those without any are left out."""


class LanguagesAnswer(Answer):
    """What translates into what."""

    languages: tuple[LanguageAnswer, ...]
    """Sorted by code."""


class CorrectionAnswer(Answer):
    """A correction in the queue for review."""

    id: int
    state: CorrectionState


class DictionaryAnswer(Answer):
    """Terms of one direction."""

    source: str
    target: str
    entry_count: int
    entries: dict[str, str] | None = None
    """Terms and their translations; left out where glossaries are listed."""


class GlossaryAnswer(Answer):
    """A kept glossary."""

    id: str
    """What requests name it by."""
    name: str
    created: datetime
    dictionaries: tuple[DictionaryAnswer, ...]
    """One for each of its directions."""

    @classmethod
    def of(cls, glossary: KeptGlossary, *, with_entries: bool = False) -> GlossaryAnswer:
        """The answer for a glossary."""
        dictionaries = [
            DictionaryAnswer(
                source=dictionary.source_language,
                target=dictionary.target_language,
                entry_count=dictionary.entry_count,
                entries=dict(dictionary.entries) if with_entries else None,
            )
            for dictionary in glossary.dictionaries
        ]
        named = {"id": glossary.id, "name": glossary.name, "created": glossary.created}
        return cls(**named, dictionaries=tuple(dictionaries))


class GlossariesAnswer(Answer):
    """Glossaries of a key, the oldest first."""

    glossaries: tuple[GlossaryAnswer, ...]


class DocumentAnswer(Answer):
    """A file that is being translated, or has been."""

    id: str
    secret: str | None = None
    """Given once, when the file is sent: who asks for the file sends it as `Document-Secret`."""
    state: JobState
    progress: float | None = None
    """Share that is done, from 0 to 1; null if that is not known."""
    characters: int = 0
    """Translated so far."""
    name: str | None = None
    """Suggested name of the translated file, once there is one."""
    message: str | None = None
    """What went wrong."""

    @classmethod
    def of(cls, job: DocumentJob, *, with_secret: bool = False) -> DocumentAnswer:
        """The answer for a job."""
        share = job.texts_done / job.texts if job.texts else None
        return cls(
            id=job.id,
            secret=job.secret if with_secret else None,
            state=job.state,
            progress=1.0 if job.state == "done" else share,
            characters=job.characters,
            name=job.result_name,
            message=job.message,
        )


class UsageAnswer(Answer):
    """What the key has used in this calendar month (UTC)."""

    characters: int
    characters_per_month: int | None
    """How many it may use; null: as many as it likes."""


class HealthAnswer(Answer):
    """The state of the server."""

    status: Literal["ok"]
    version: str
    directions: int
    """Number of pairs of languages that it translates."""
