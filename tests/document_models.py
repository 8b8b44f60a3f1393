"""Translation services that say what they like, as models may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from echo_service import EchoService

from dragoman.documents.file_translation import translate_file
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.translated_text import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

Model = Callable[[str], str]
"""From a text to its translation."""


class SayingService(EchoService):
    """Answers each text with what a function makes of it.

    Args:
        model: the function.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        return [self._said(request) for request in requests]

    def _said(self, request: TextRequest) -> TranslatedText:
        text = self._model(request.text)
        sentence = TranslatedSentence(request.text, 0, (Rendering(text),))
        return TranslatedText(text, "en", "de", None, (sentence,) if request.text else ())


def file_by(model: Model, name: str, content: str) -> str:
    """A file in UTF-8 translated by a model."""
    request = TextRequest("", "de", "en")
    service = SayingService(model)
    found = asyncio.run(translate_file(service, name, content.encode(), request))
    return found.content.decode()
