"""What LibreTranslate's paths do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from babel import negotiate_locale
from fastapi import Request

from dragoman.documents.content import translate_contents
from dragoman.documents.filetypes import file_suffixes
from dragoman.server.access import network_of
from dragoman.server.dependencies import Premises
from dragoman.server.language_names import known_direction, language_name
from dragoman.server.libretranslate.answers import (
    LibreChoice,
    LibreChoices,
    LibreDetection,
    LibreHealth,
    LibreLanguage,
    LibreSettings,
    LibreSuccess,
    LibreTranslation,
)
from dragoman.server.libretranslate.files import LibreFiles
from dragoman.server.libretranslate.reception import LibreReception
from dragoman.server.libretranslate.requests import LibreSuggestion, LibreTask
from dragoman.server.parameters import RequestParameters, address_of
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import (
    Detection,
    Pairing,
    TextRequest,
    TranslatedText,
)

_TYPING_MILLISECONDS = 500
_UNKNOWN = Detection("en", 0.0)  # as LibreTranslate calls a text in which nothing can be detected


class LibrePaths:
    """What happens on each path."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._reception = LibreReception(premises)
        self._files = LibreFiles(premises, self._reception)
        self.translate_file = self._files.translate
        self.download_file = self._files.download

    async def translate(self, request: Request) -> LibreTranslation:
        """Translate text from a language to another."""
        limits = self._premises.config.limits
        task, _ = await self._reception.admit(
            request, partial(LibreTask.read, limits=limits), lambda one: one.texts
        )
        texts = [
            TextRequest(text, task.target, task.source, nbest=task.alternatives + 1)
            for text in task.texts
        ]
        with self._reception.wording(task.source, task.target):
            found = await translate_contents(
                self._premises.service,
                texts,
                "html" if task.is_html else "text",
                seconds=limits.seconds,
            )
        return _answer(task, found)

    async def detect(self, request: Request) -> list[LibreDetection]:
        """Detect the language of a text, or of several together."""
        text, _ = await self._reception.admit(request, _text_to_detect, lambda one: [one])
        [found] = await self._premises.service.detect([text])
        return [_detection(one) for one in found or [_UNKNOWN]]

    async def suggest(self, request: Request) -> LibreSuccess:
        """Submit a suggestion to improve a translation."""
        suggestion, key = await self._reception.admit(request, LibreSuggestion.read)
        source, target = suggestion.source, suggestion.target
        service = self._premises.service
        with self._reception.wording(source, target):
            if source is None:
                source = (await service.detect_sources([suggestion.text], target))[0].language
            pair = known_direction(service, source, target)
        add = partial(
            self._premises.store.add_correction,
            suggestion.text,
            suggestion.translation,
            *pair,
            key.id if key else None,
            address=network_of(address_of(request)),
        )
        await in_thread(add)
        return LibreSuccess(success=True)

    async def languages(self) -> list[LibreLanguage]:
        """Retrieve list of supported languages."""
        targets: dict[str, set[str]] = {}
        for source, target in self._premises.service.directions():
            targets.setdefault(source, {source}).add(target)
            targets.setdefault(target, {target})  # a text that is in it already is left as it is
        found = [
            LibreLanguage(code=code, name=language_name(code), targets=sorted(into))
            for code, into in targets.items()
        ]
        return sorted(found, key=lambda one: (one.code != "en", one.name, one.code))

    async def settings(self, request: Request) -> LibreSettings:
        """Retrieve frontend specific settings."""
        config = self._premises.config
        has_keys = await in_thread(self._premises.store.has_keys)
        target = _first_target(request, self._premises.service.directions())
        return LibreSettings(
            char_limit=config.limits.characters,
            frontend_timeout=_TYPING_MILLISECONDS,
            api_keys=has_keys or config.require_key,
            key_required=config.require_key,
            suggestions=True,
            files_translation=True,
            supported_files_format=list(file_suffixes()),
            language=LibreChoices(
                source=LibreChoice(code="auto", name="Auto Detect"),
                target=LibreChoice(code=target, name=language_name(target)),
            ),
        )

    async def health(self) -> LibreHealth:
        """Whether the server is up."""
        return LibreHealth(status="ok")


def _text_to_detect(given: RequestParameters) -> str:
    texts = given.texts("q")
    return texts if isinstance(texts, str) else "\n".join(texts)


def _answer(task: LibreTask, found: Sequence[TranslatedText]) -> LibreTranslation:
    texts = [one.text for one in found]
    detected = [_detection(one.detection or Detection(one.source, 0.0)) for one in found]
    others = [one.alternatives for one in found]
    return LibreTranslation(
        translated_text=texts if task.is_list else texts[0],
        detected_language=None if task.source else detected if task.is_list else detected[0],
        alternatives=None if not task.alternatives else others if task.is_list else others[0],
    )


def _detection(found: Detection) -> LibreDetection:
    return LibreDetection(confidence=round(100 * found.probability), language=found.language)


def _first_target(request: Request, directions: Sequence[Pairing]) -> str:
    """A target language that the reader's browser prefers, or any."""
    targets = sorted({one.target for one in directions})
    accepted = request.headers.get("accept-language", "").split(",")
    preferred = [one.partition(";")[0].strip() for one in accepted]
    found = negotiate_locale(preferred, targets, sep="-")
    others = [one for one in targets if one != "en"]
    return str(found) if found else [*others, *targets, "en"][0]
