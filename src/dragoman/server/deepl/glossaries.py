"""Glossaries of DeepL's API: ``/v2/glossaries`` (one direction), ``/v3/glossaries`` (several)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from dragoman.server.database.records import KeptDictionary, KeptGlossary
from dragoman.server.database.server_store import in_thread
from dragoman.server.deepl.entries import FORMATS, Entry, read_entries, tsv
from dragoman.server.deepl.languages import glossary_direction, glossary_pairs
from dragoman.server.deepl.parameters import DeepLParameters, Key, Owner, Parameters, invalid
from dragoman.server.dependencies import Server
from dragoman.translation.service.interface import RefusedError, TranslationService

_TSV = "text/tab-separated-values"
_LONGEST_NAME = 1024  # bytes
_MOST_DICTIONARIES = 100

Direction = tuple[str, str]


router = APIRouter()


class _Glossaries:
    """The glossaries of a key; refuses requests for missing glossaries and dictionaries."""

    def __init__(self, server: Server, owner: Owner) -> None:
        self._store, self._owner = server.store, owner

    async def create(
        self, name: str, entries: Mapping[Direction, tuple[Entry, ...]]
    ) -> KeptGlossary:
        return await in_thread(self._store.create_glossary, name, entries, self._owner)

    async def all(self) -> list[KeptGlossary]:
        return await in_thread(self._store.glossaries, self._owner)

    async def get(self, identifier: str) -> KeptGlossary:
        return _found(await in_thread(self._store.glossary, identifier, self._owner))

    async def single(self, identifier: str) -> KeptGlossary:
        """A glossary of one direction."""
        glossary = await self.get(identifier)
        if len(glossary.dictionaries) != 1:
            raise invalid(
                "The glossary has several dictionaries, or none; /v3/glossaries serves it."
            )
        return glossary

    async def entries(self, identifier: str, direction: Direction) -> tuple[Entry, ...]:
        await self.get(identifier)
        read = self._store.glossary_entries
        entries = await in_thread(read, identifier, *direction, self._owner)
        if entries is None:
            raise _no_dictionary(direction)
        return entries

    async def rename(self, identifier: str, name: str) -> KeptGlossary:
        return _found(await in_thread(self._store.rename_glossary, identifier, name, self._owner))

    async def put(
        self,
        identifier: str,
        direction: Direction,
        entries: tuple[Entry, ...],
        *,
        merge: bool,
        name: str | None = None,
    ) -> KeptGlossary:
        put = partial(self._store.put_dictionary, merge=merge, name=name)
        return _found(await in_thread(put, identifier, *direction, entries, self._owner))

    async def delete(self, identifier: str) -> None:
        if not await in_thread(self._store.delete_glossary, identifier, self._owner):
            raise _not_found()

    async def delete_dictionary(self, identifier: str, direction: Direction) -> None:
        delete = self._store.delete_dictionary
        if not await in_thread(delete, identifier, *direction, self._owner):
            raise _no_dictionary(direction)


Glossaries = Annotated[_Glossaries, Depends()]


@router.get("/v2/glossary-language-pairs")
async def language_pairs(server: Server, key: Key) -> Response:
    """Directions that glossaries can have."""
    return JSONResponse({"supported_languages": glossary_pairs(server.service)})


# Version 2: glossaries of one direction, which cannot be changed.


@router.post("/v2/glossaries")
async def create_single(server: Server, parameters: Parameters, kept: Glossaries) -> Response:
    """Keep a glossary."""
    name = _name(parameters.required("name"))
    entries = await in_thread(_dictionary, server.service, parameters)
    return JSONResponse(_single(await kept.create(name, dict([entries]))), 201)


@router.get("/v2/glossaries")
async def list_single(kept: Glossaries) -> Response:
    """The glossaries of one direction."""
    listed = [_single(glossary) for glossary in await kept.all() if len(glossary.dictionaries) == 1]
    return JSONResponse({"glossaries": listed})


@router.get("/v2/glossaries/{identifier}")
async def get_single(identifier: str, kept: Glossaries) -> Response:
    """A glossary without its entries."""
    return JSONResponse(_single(await kept.single(identifier)))


@router.get("/v2/glossaries/{identifier}/entries")
async def single_entries(request: Request, identifier: str, kept: Glossaries) -> Response:
    """The entries of a glossary, separated by tabs."""
    if not _accepts_tsv(request):
        return JSONResponse({"message": f"Entries are of the type {_TSV}: accept it."}, 415)
    only = (await kept.single(identifier)).dictionaries[0]
    entries = await kept.entries(identifier, _direction(only))
    return PlainTextResponse(tsv(entries), media_type=_TSV)


@router.delete("/v2/glossaries/{identifier}")
async def delete_single(identifier: str, kept: Glossaries) -> Response:
    """Delete a glossary of one direction."""
    await kept.single(identifier)
    await kept.delete(identifier)
    return Response(status_code=204)


# Version 3: glossaries of several directions, which can be changed.


@router.post("/v3/glossaries")
async def create(server: Server, parameters: Parameters, kept: Glossaries) -> Response:
    """Keep a glossary."""
    name = _name(parameters.required("name"))
    entries: dict[Direction, tuple[Entry, ...]] = {}
    for one in parameters.objects("dictionaries", _MOST_DICTIONARIES):
        direction, given = await in_thread(_dictionary, server.service, one)
        if direction in entries:
            raise invalid(f"Two dictionaries are for {' to '.join(direction)}.")
        entries[direction] = given
    return JSONResponse(_multilingual(await kept.create(name, entries)), 201)


@router.get("/v3/glossaries")
async def list_all(kept: Glossaries) -> Response:
    """All glossaries."""
    return JSONResponse({"glossaries": [_multilingual(glossary) for glossary in await kept.all()]})


@router.get("/v3/glossaries/{identifier}")
async def get(identifier: str, kept: Glossaries) -> Response:
    """A glossary without its entries."""
    return JSONResponse(_multilingual(await kept.get(identifier)))


@router.patch("/v3/glossaries/{identifier}")
async def change(
    identifier: str, server: Server, parameters: Parameters, kept: Glossaries
) -> Response:
    """Change the name of a glossary, or add entries to a dictionary."""
    name = parameters.text("name")
    given = parameters.objects("dictionaries", _MOST_DICTIONARIES)
    if len(given) > 1:
        raise invalid("At most one dictionary can be changed at once.")
    name = None if name is None else _name(name)
    glossary = await kept.get(identifier)
    if given:
        direction, entries = await in_thread(_dictionary, server.service, given[0], glossary)
        glossary = await kept.put(identifier, direction, entries, merge=True, name=name)
    elif name is not None:
        glossary = await kept.rename(identifier, name)
    return JSONResponse(_multilingual(glossary))


@router.delete("/v3/glossaries/{identifier}")
async def delete(identifier: str, kept: Glossaries) -> Response:
    """Delete a glossary."""
    await kept.delete(identifier)
    return Response(status_code=204)


@router.get("/v3/glossaries/{identifier}/entries")
async def entries_of_dictionary(
    identifier: str, server: Server, parameters: Parameters, kept: Glossaries
) -> Response:
    """The entries of a dictionary."""
    direction = _direction_of(server.service, parameters, await kept.get(identifier))
    source, target = direction
    answer = {
        "source_lang": source,
        "target_lang": target,
        "entries": tsv(await kept.entries(identifier, direction)),
        "entries_format": "tsv",
    }
    return JSONResponse({"dictionaries": [answer]})


@router.put("/v3/glossaries/{identifier}/dictionaries")
async def replace_dictionary(
    identifier: str, server: Server, parameters: Parameters, kept: Glossaries
) -> Response:
    """Replace a dictionary, or add it."""
    glossary = await kept.get(identifier)
    direction, entries = await in_thread(_dictionary, server.service, parameters, glossary)
    changed = await kept.put(identifier, direction, entries, merge=False)
    dictionary = changed.dictionary(*direction)
    if dictionary is None:  # deleted at the same moment
        raise _not_found()
    return JSONResponse(_outline(dictionary))


@router.delete("/v3/glossaries/{identifier}/dictionaries")
async def delete_dictionary(
    identifier: str, server: Server, parameters: Parameters, kept: Glossaries
) -> Response:
    """Delete a dictionary."""
    direction = _direction_of(server.service, parameters, await kept.get(identifier))
    await kept.delete_dictionary(identifier, direction)
    return Response(status_code=204)


def _not_found() -> RefusedError:
    return RefusedError("not_found", "Glossary not found.")


def _found(glossary: KeptGlossary | None) -> KeptGlossary:
    if glossary is None:
        raise _not_found()
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
    service: TranslationService, parameters: DeepLParameters, glossary: KeptGlossary | None = None
) -> tuple[Direction, tuple[Entry, ...]]:
    """A direction and its entries from a request; an existing glossary may already have it."""
    direction = _direction_of(service, parameters, glossary)
    source, target = direction
    is_kept = glossary is not None and glossary.dictionary(source, target) is not None
    if not is_kept and {"source_lang": source, "target_lang": target} not in glossary_pairs(
        service
    ):
        raise invalid(
            f"Unsupported glossary source and target language pair: {source} to {target}. "
            "/v2/glossary-language-pairs lists those that are."
        )
    kind = parameters.choice("entries_format", FORMATS) or "tsv"
    return direction, read_entries(parameters.required("entries"), kind, source, target)


def _direction_of(
    service: TranslationService, parameters: DeepLParameters, glossary: KeptGlossary | None = None
) -> Direction:
    """The direction in a request.

    A dictionary of the glossary with exactly these codes takes precedence, as one that was kept
    through our own API may be of a region, and is listed as such.
    """
    source, target = parameters.required("source_lang"), parameters.required("target_lang")
    if glossary is not None and (kept := glossary.dictionary(source, target)) is not None:
        return _direction(kept)
    return glossary_direction(service, source, target)


def _direction(dictionary: KeptDictionary) -> Direction:
    return dictionary.source_language, dictionary.target_language


def _accepts_tsv(request: Request) -> bool:
    accepted = request.headers.get("accept", "*/*")
    kinds = {kind.partition(";")[0].strip().lower() for kind in accepted.split(",")}
    return not kinds.isdisjoint({_TSV, "text/*", "*/*", ""})


def _single(glossary: KeptGlossary) -> dict[str, Any]:
    only = glossary.dictionaries[0]
    return {**_described(glossary), "ready": True, **_outline(only)}


def _multilingual(glossary: KeptGlossary) -> dict[str, Any]:
    return {
        **_described(glossary),
        "dictionaries": [_outline(dictionary) for dictionary in glossary.dictionaries],
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
