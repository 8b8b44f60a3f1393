"""Glossaries of DeepL's API: ``/v2/glossaries`` of one direction, ``/v3/glossaries`` of several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from dragoman.server.database.records import KeptDictionary, KeptGlossary
from dragoman.server.deepl.access import admitted
from dragoman.server.deepl.entries import FORMATS, Entry, read_entries, tsv
from dragoman.server.deepl.languages import glossary_direction, glossary_pairs
from dragoman.server.deepl.parameters import DeepLParameters, invalid
from dragoman.server.dependencies import Premises
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError

_TSV = "text/tab-separated-values"
_LONGEST_NAME = 1024  # bytes
_MOST_DICTIONARIES = 100

Direction = tuple[str, str]


def glossary_router(premises: Premises) -> APIRouter:
    """Routes of glossaries."""
    router = APIRouter()
    _add_pairs(router, premises)
    _add_single(router, premises)
    _add_multilingual(router, premises)
    return router


def not_found() -> RefusedError:
    """There is no such glossary, or it is somebody else's."""
    return RefusedError("not_found", "Glossary not found.")


def _add_pairs(router: APIRouter, premises: Premises) -> None:
    @router.get("/v2/glossary-language-pairs")
    async def language_pairs(request: Request) -> Response:
        await admitted(premises, request, await DeepLParameters.of(premises, request))
        return JSONResponse({"supported_languages": glossary_pairs(premises.service)})


def _add_single(router: APIRouter, premises: Premises) -> None:
    """Those of one direction, which cannot be changed."""
    shelf = _Shelf(premises)

    @router.post("/v2/glossaries")
    async def create(request: Request) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        name = _name(parameters.required("name"))
        entries = await in_thread(_dictionary, premises, parameters)
        made = await shelf.create(name, dict([entries]), key)
        return JSONResponse(_single(made), 201)

    @router.get("/v2/glossaries")
    async def all_of_them(request: Request) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        found = await shelf.all(key)
        listed = [_single(one) for one in found if len(one.dictionaries) == 1]
        return JSONResponse({"glossaries": listed})

    @router.get("/v2/glossaries/{identifier}")
    async def one(request: Request, identifier: str) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        return JSONResponse(_single(await shelf.single(identifier, key)))

    @router.get("/v2/glossaries/{identifier}/entries")
    async def entries(request: Request, identifier: str) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        if not _accepts_tsv(request):
            return JSONResponse({"message": f"Entries are of the type {_TSV}: accept it."}, 415)
        found = await shelf.single(identifier, key)
        only = found.dictionaries[0]
        listed = await shelf.entries(identifier, _direction(only), key)
        return PlainTextResponse(tsv(listed), media_type=_TSV)

    @router.delete("/v2/glossaries/{identifier}")
    async def delete(request: Request, identifier: str) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        await shelf.single(identifier, key)
        await shelf.delete(identifier, key)
        return Response(status_code=204)


def _add_multilingual(router: APIRouter, premises: Premises) -> None:
    """Those of several directions, which can be changed."""
    shelf = _Shelf(premises)

    @router.post("/v3/glossaries")
    async def create(request: Request) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        name = _name(parameters.required("name"))
        given = parameters.objects("dictionaries", _MOST_DICTIONARIES)
        entries: dict[Direction, tuple[Entry, ...]] = {}
        for one in given:
            direction, found = await in_thread(_dictionary, premises, one)
            if direction in entries:
                raise invalid(f"Two dictionaries are for {' to '.join(direction)}.")
            entries[direction] = found
        return JSONResponse(_multilingual(await shelf.create(name, entries, key)), 201)

    @router.get("/v3/glossaries")
    async def all_of_them(request: Request) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        found = await shelf.all(key)
        return JSONResponse({"glossaries": [_multilingual(one) for one in found]})

    @router.get("/v3/glossaries/{identifier}")
    async def one(request: Request, identifier: str) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        return JSONResponse(_multilingual(await shelf.one(identifier, key)))

    @router.patch("/v3/glossaries/{identifier}")
    async def change(request: Request, identifier: str) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        name = parameters.text("name")
        given = parameters.objects("dictionaries", _MOST_DICTIONARIES)
        if len(given) > 1:
            raise invalid("At most one dictionary can be changed at once.")
        name = None if name is None else _name(name)
        found = await shelf.one(identifier, key)
        changed = [await in_thread(_dictionary, premises, one, found) for one in given]
        if changed:
            direction, entries = changed[0]
            found = await shelf.put(identifier, direction, entries, key, merge=True, name=name)
        elif name is not None:
            found = await shelf.rename(identifier, name, key)
        return JSONResponse(_multilingual(found))

    @router.delete("/v3/glossaries/{identifier}")
    async def delete(request: Request, identifier: str) -> Response:
        key = await admitted(premises, request, await DeepLParameters.of(premises, request))
        await shelf.delete(identifier, key)
        return Response(status_code=204)

    _add_dictionaries(router, premises, shelf)


def _add_dictionaries(router: APIRouter, premises: Premises, shelf: _Shelf) -> None:
    @router.get("/v3/glossaries/{identifier}/entries")
    async def entries(request: Request, identifier: str) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        glossary = await shelf.one(identifier, key)
        direction = _asked_direction(premises, parameters, glossary)
        found = await shelf.entries(identifier, direction, key)
        source, target = direction
        answer = {
            "source_lang": source,
            "target_lang": target,
            "entries": tsv(found),
            "entries_format": "tsv",
        }
        return JSONResponse({"dictionaries": [answer]})

    @router.put("/v3/glossaries/{identifier}/dictionaries")
    async def replace(request: Request, identifier: str) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        glossary = await shelf.one(identifier, key)
        direction, entries = await in_thread(_dictionary, premises, parameters, glossary)
        changed = await shelf.put(identifier, direction, entries, key, merge=False)
        dictionary = changed.dictionary(*direction)
        if dictionary is None:  # deleted at the same moment
            raise not_found()
        return JSONResponse(_outline(dictionary))

    @router.delete("/v3/glossaries/{identifier}/dictionaries")
    async def delete_one(request: Request, identifier: str) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters)
        glossary = await shelf.one(identifier, key)
        direction = _asked_direction(premises, parameters, glossary)
        await shelf.delete_dictionary(identifier, direction, key)
        return Response(status_code=204)


class _Shelf:
    """The glossaries of the store; what is not there is refused as such."""

    def __init__(self, premises: Premises) -> None:
        self._store = premises.store

    async def create(
        self, name: str, entries: Mapping[Direction, tuple[Entry, ...]], key: int | None
    ) -> KeptGlossary:
        return await in_thread(self._store.create_glossary, name, entries, key)

    async def all(self, key: int | None) -> list[KeptGlossary]:
        return await in_thread(self._store.glossaries, key)

    async def one(self, identifier: str, key: int | None) -> KeptGlossary:
        return _found(await in_thread(self._store.glossary, identifier, key))

    async def single(self, identifier: str, key: int | None) -> KeptGlossary:
        """One of one direction."""
        found = await self.one(identifier, key)
        if len(found.dictionaries) != 1:
            raise invalid(
                "The glossary has several dictionaries, or none; /v3/glossaries serves it."
            )
        return found

    async def entries(
        self, identifier: str, direction: Direction, key: int | None
    ) -> tuple[Entry, ...]:
        await self.one(identifier, key)
        found = await in_thread(self._store.glossary_entries, identifier, *direction, key)
        if found is None:
            raise _no_dictionary(direction)
        return found

    async def rename(self, identifier: str, name: str, key: int | None) -> KeptGlossary:
        return _found(await in_thread(self._store.rename_glossary, identifier, name, key))

    async def put(
        self,
        identifier: str,
        direction: Direction,
        entries: tuple[Entry, ...],
        key: int | None,
        *,
        merge: bool,
        name: str | None = None,
    ) -> KeptGlossary:
        put = partial(self._store.put_dictionary, merge=merge, name=name)
        return _found(await in_thread(put, identifier, *direction, entries, key))

    async def delete(self, identifier: str, key: int | None) -> None:
        if not await in_thread(self._store.delete_glossary, identifier, key):
            raise not_found()

    async def delete_dictionary(
        self, identifier: str, direction: Direction, key: int | None
    ) -> None:
        if not await in_thread(self._store.delete_dictionary, identifier, *direction, key):
            raise _no_dictionary(direction)


def _found(glossary: KeptGlossary | None) -> KeptGlossary:
    if glossary is None:
        raise not_found()
    return glossary


def _no_dictionary(direction: Direction) -> RefusedError:
    return RefusedError("not_found", f"Dictionary not found: {' to '.join(direction)}.")


def _name(name: str) -> str:
    if len(name.encode()) > _LONGEST_NAME or not name.isprintable() or not name.strip():
        raise invalid(
            f"The name of a glossary has 1 to {_LONGEST_NAME} bytes and no control characters."
        )
    return name


def _dictionary(
    premises: Premises, parameters: DeepLParameters, glossary: KeptGlossary | None = None
) -> tuple[Direction, tuple[Entry, ...]]:
    """What a request says of one direction, which a glossary that exists may have already."""
    direction = _asked_direction(premises, parameters, glossary)
    source, target = direction
    is_kept = glossary is not None and glossary.dictionary(source, target) is not None
    if not is_kept and {"source_lang": source, "target_lang": target} not in glossary_pairs(
        premises.service
    ):
        raise invalid(
            f"Unsupported glossary source and target language pair: {source} to {target}. "
            "/v2/glossary-language-pairs lists those that are."
        )
    kind = parameters.choice("entries_format", FORMATS) or "tsv"
    return direction, read_entries(parameters.required("entries"), kind, source, target)


def _asked_direction(
    premises: Premises, parameters: DeepLParameters, glossary: KeptGlossary | None = None
) -> Direction:
    """The direction that a request names.

    Args:
        premises: whose service has the languages.
        parameters: with the codes.
        glossary: one that exists.  A dictionary of just these codes goes first: kept through our
            own door, it may be of a region, and is listed as such.
    """
    source, target = parameters.required("source_lang"), parameters.required("target_lang")
    if glossary is not None and (kept := glossary.dictionary(source, target)) is not None:
        return _direction(kept)
    return glossary_direction(premises.service, source, target)


def _direction(dictionary: KeptDictionary) -> Direction:
    return dictionary.source_language, dictionary.target_language


def _accepts_tsv(request: Request) -> bool:
    accepted = request.headers.get("accept", "*/*")
    kinds = {one.partition(";")[0].strip().lower() for one in accepted.split(",")}
    return not kinds.isdisjoint({_TSV, "text/*", "*/*", ""})


def _single(glossary: KeptGlossary) -> dict[str, Any]:
    only = glossary.dictionaries[0]
    return {**_described(glossary), "ready": True, **_outline(only)}


def _multilingual(glossary: KeptGlossary) -> dict[str, Any]:
    return {
        **_described(glossary),
        "dictionaries": [_outline(one) for one in glossary.dictionaries],
    }


def _described(glossary: KeptGlossary) -> dict[str, Any]:
    created = glossary.created.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"glossary_id": glossary.id, "name": glossary.name, "creation_time": created}


def _outline(dictionary: KeptDictionary) -> dict[str, Any]:
    return {
        "source_lang": dictionary.source_language,
        "target_lang": dictionary.target_language,
        "entry_count": dictionary.entry_count,
    }
