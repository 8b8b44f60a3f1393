"""The door that speaks DeepL's API."""

from __future__ import annotations

from fastapi import APIRouter

from dragoman.server.deepl.access import refuse
from dragoman.server.deepl.account import account_router
from dragoman.server.deepl.documents import document_router
from dragoman.server.deepl.glossaries import glossary_router
from dragoman.server.deepl.texts import text_router
from dragoman.server.dependencies import Door, Premises


def deepl_door(premises: Premises) -> Door:
    """``/v2`` and ``/v3``."""
    router = APIRouter()
    for make in (text_router, document_router, glossary_router, account_router):
        router.include_router(make(premises))
    return Door("deepl", ("/v2", "/v3"), router, refuse)
