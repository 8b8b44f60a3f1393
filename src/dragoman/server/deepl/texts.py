"""``/v2/translate``: texts, with or without markup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.documents.content import ContentFormat, MarkupOptions, translate_contents
from dragoman.server.deepl.access import admitted
from dragoman.server.deepl.languages import deepl_code
from dragoman.server.deepl.parameters import DeepLParameters
from dragoman.server.deepl.requests import common_request
from dragoman.server.dependencies import Premises
from dragoman.text.sentences import SplitMode
from dragoman.translation.service.interface import RefusedError, TextRequest, TranslatedText

_SPLITS: dict[str, SplitMode] = {"0": "none", "1": "sentences", "nonewlines": "flowing"}

# There is one model for each direction, so each wish is granted by the same one.
_MODEL_TYPES = {
    "quality_optimized": "quality_optimized",
    "prefer_quality_optimized": "quality_optimized",
    "latency_optimized": "latency_optimized",
}


def text_router(premises: Premises) -> APIRouter:
    """Routes of texts."""
    router = APIRouter()

    @router.api_route("/v2/translate", methods=["GET", "POST"])
    async def translate(request: Request) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        texts = await _texts(premises, request, parameters)
        key = await admitted(premises, request, parameters, texts)
        common = await common_request(premises, parameters, key)
        kind, markup = _markup(parameters)
        prepared = _prepared(parameters, common, kind, premises.config.limits.characters)
        shown = _Shown(parameters)
        translated = await translate_contents(
            premises.service,
            [replace(prepared, text=text) for text in texts],
            kind,
            markup,
            seconds=premises.config.limits.seconds,
        )
        answers = [shown.of(*pair) for pair in zip(texts, translated, strict=True)]
        return JSONResponse({"translations": answers})

    return router


async def _texts(premises: Premises, request: Request, parameters: DeepLParameters) -> list[str]:
    try:
        return parameters.texts("text")
    except RefusedError:
        # Whoever is not admitted is told so first.
        await admitted(premises, request, parameters)
        raise


def _prepared(
    parameters: DeepLParameters, common: TextRequest, kind: ContentFormat, characters: int
) -> TextRequest:
    """A request of which only the text is missing."""
    wanted = parameters.choice("split_sentences", tuple(_SPLITS))
    split = _SPLITS[wanted or ("nonewlines" if kind == "html" else "1")]
    # Models write what they write: nothing corrects it that could be switched off.
    parameters.flag("preserve_formatting", False)
    context = parameters.text("context") or ""
    if len(context) > characters:
        raise RefusedError(
            "too_large",
            f"'context' has {len(context)} characters; send at most {characters}",
        )
    return replace(common, split=split, context=context)


def _markup(parameters: DeepLParameters) -> tuple[ContentFormat, MarkupOptions | None]:
    kind = parameters.choice("tag_handling", ("xml", "html"))
    version = parameters.choice("tag_handling_version", ("v1", "v2"))
    options = MarkupOptions(
        ignored_tags=parameters.names("ignore_tags"),
        splitting_tags=parameters.names("splitting_tags"),
        non_splitting_tags=parameters.names("non_splitting_tags"),
        finds_structure=parameters.flag("outline_detection", True),
        is_lax=version != "v2",
    )
    return (cast(ContentFormat, kind), options) if kind else ("text", None)


class _Shown:
    """What is said about a translation, beside the text."""

    def __init__(self, parameters: DeepLParameters) -> None:
        self._billed = parameters.flag("show_billed_characters", False)
        self._model = parameters.choice("model_type", tuple(_MODEL_TYPES))

    def of(self, text: str, translated: TranslatedText) -> dict[str, Any]:
        """A translation as JSON."""
        answer: dict[str, Any] = {
            "detected_source_language": deepl_code(translated.source),
            "text": translated.text,
        }
        if self._billed:
            answer["billed_characters"] = len(text)
        if self._model:
            answer["model_type_used"] = _MODEL_TYPES[self._model]
        return answer
