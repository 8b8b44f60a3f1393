"""DeepL's API as a whole, with its routes for texts, languages and usage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.documents.content import ContentFormat, MarkupOptions, translate_contents
from dragoman.server.access import key_id, monthly_quota
from dragoman.server.database.server_store import in_thread
from dragoman.server.deepl import documents, glossaries
from dragoman.server.deepl.languages import deepl_code, listed_sources, listed_targets
from dragoman.server.deepl.parameters import (
    DeepLParameters,
    Key,
    Parameters,
    admit,
    invalid,
    refuse,
)
from dragoman.server.deepl.requests import common_request
from dragoman.server.dependencies import Api, Server
from dragoman.text.sentences import SplitMode
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.translated_text import TranslatedText

_SPLITS: dict[str, SplitMode] = {"0": "none", "1": "sentences", "nonewlines": "flowing"}

# Each direction has a single model, so every type of model means that model.
_MODEL_TYPES = {
    "quality_optimized": "quality_optimized",
    "prefer_quality_optimized": "quality_optimized",
    "latency_optimized": "latency_optimized",
}
_UNLIMITED = 1_000_000_000_000
"""Characters per month that DeepL reports for an account without limit."""
_ABSENT = {
    "/v2/write": "rewriting and correcting texts",
    "/v3/style_rules": "style rules",
    "/v3/translation_memories": "translation memories that are uploaded",
}

router = APIRouter()


@router.api_route("/v2/translate", methods=["GET", "POST"])
async def translate(request: Request, server: Server, parameters: Parameters) -> Response:
    """Texts, with or without markup."""
    try:
        texts = parameters.texts("text")
    except RefusedError:
        await admit(server, request, parameters)  # so that a wrong key is reported first
        raise
    key = await admit(server, request, parameters, texts)
    limits = server.config.limits
    common = await common_request(server, parameters, key_id(key))
    kind, markup = _markup(parameters)
    prepared = _prepared(parameters, common, kind, limits.characters)
    answer = _Answer(parameters)
    translated = await translate_contents(
        server.service,
        [replace(prepared, text=text) for text in texts],
        kind,
        markup,
        seconds=limits.seconds,
    )
    answers = [answer.of(*pair) for pair in zip(texts, translated, strict=True)]
    return JSONResponse({"translations": answers})


@router.api_route("/v2/languages", methods=["GET", "POST"])
async def languages(server: Server, parameters: Parameters, key: Key) -> Response:
    """Source or target languages."""
    kind = parameters.text("type") or "source"
    if kind not in ("source", "target"):
        raise invalid("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
    listed = listed_sources if kind == "source" else listed_targets
    return JSONResponse(await in_thread(listed, server.service))


@router.api_route("/v2/usage", methods=["GET", "POST"])
async def usage(server: Server, key: Key) -> Response:
    """Characters of this month, and how many there may be."""
    limit = monthly_quota(key, server.config.limits)
    used = await in_thread(server.store.used, key_id(key))
    return JSONResponse(_usage(used, _UNLIMITED if limit is None else limit))


router.include_router(documents.router)
router.include_router(glossaries.router)


def _add_absent(path: str, feature: str) -> None:
    async def absent() -> Response:
        raise RefusedError("not_found", f"Not supported by this server: {feature}.")

    # Not 501, after which DeepL's client would keep repeating the request.
    for pattern in (path, path + "/{rest:path}"):
        router.add_api_route(pattern, absent, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])


for _path, _feature in _ABSENT.items():
    _add_absent(_path, _feature)

DEEPL = Api("deepl", ("/v2", "/v3"), router, refuse)


def _prepared(
    parameters: DeepLParameters, common: TextRequest, kind: ContentFormat, characters: int
) -> TextRequest:
    wanted = parameters.choice("split_sentences", tuple(_SPLITS))
    split = _SPLITS[wanted or ("nonewlines" if kind == "html" else "1")]
    # Ignored after the check, as models' output is never reformatted.
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


class _Answer:
    """Makes the JSON of translations, with the optional fields that the parameters request."""

    def __init__(self, parameters: DeepLParameters) -> None:
        self._billed = parameters.flag("show_billed_characters", False)
        self._model = parameters.choice("model_type", tuple(_MODEL_TYPES))

    def of(self, text: str, translated: TranslatedText) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "detected_source_language": deepl_code(translated.source),
            "text": translated.text,
        }
        if self._billed:
            answer["billed_characters"] = len(text)
        if self._model:
            answer["model_type_used"] = _MODEL_TYPES[self._model]
        return answer


def _usage(used: int, limit: int) -> dict[str, Any]:
    start = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = (start + timedelta(days=31)).replace(day=1)
    return {
        "character_count": used,
        "character_limit": limit,
        "start_time": _moment(start),
        "end_time": _moment(end),
    }


def _moment(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
