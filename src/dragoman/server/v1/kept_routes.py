"""The routes for what a server keeps: corrections, glossaries, usage."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.server.access import monthly_quota, network_of
from dragoman.server.database.records import ApiKey, Entries
from dragoman.server.dependencies import Premises
from dragoman.server.language_names import known_direction
from dragoman.server.parameters import address_of
from dragoman.server.read_glossaries import glossary_of
from dragoman.server.threads import in_thread
from dragoman.server.v1.caller import (
    admitted,
    kept_glossary,
    key_id,
)
from dragoman.server.v1.requests import CorrectionBody, GlossaryBody
from dragoman.server.v1.responses import (
    CorrectionAnswer,
    GlossariesAnswer,
    GlossaryAnswer,
    UsageAnswer,
)
from dragoman.translation.service.interface import Pairing


class KeptRoutes:
    """What answers requests about what is kept."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.post("/corrections", response_model=CorrectionAnswer, status_code=201)(self.correct)
        router.get("/glossaries", response_model=GlossariesAnswer)(self.glossaries)
        router.post("/glossaries", response_model=GlossaryAnswer, status_code=201)(
            self.create_glossary
        )
        router.get("/glossaries/{identifier}", response_model=GlossaryAnswer)(self.glossary)
        router.put("/glossaries/{identifier}", response_model=GlossaryAnswer)(self.replace_glossary)
        router.delete("/glossaries/{identifier}", status_code=204)(self.delete_glossary)
        router.get("/usage", response_model=UsageAnswer)(self.usage)

    async def correct(self, request: Request, body: CorrectionBody) -> CorrectionAnswer:
        """Send a better translation.

        Someone reviews it; once it is accepted, it answers exactly this text, and models can be
        adapted to it.
        """
        key = await admitted(self._premises, request)
        pair = known_direction(self._premises.service, body.source, body.target)
        kept = await in_thread(
            self._premises.store.add_correction,
            body.text,
            body.translation,
            pair.source,
            pair.target,
            key_id(key),
            address=network_of(address_of(request)),
        )
        return CorrectionAnswer.of(kept)

    async def glossaries(self, request: Request) -> GlossariesAnswer:
        """List the glossaries of the key, the oldest first, without their entries."""
        key = await admitted(self._premises, request)
        found = await in_thread(self._premises.store.glossaries, key_id(key))
        return GlossariesAnswer(glossaries=tuple(map(GlossaryAnswer.of, found)))

    async def create_glossary(self, request: Request, body: GlossaryBody) -> GlossaryAnswer:
        """Keep a glossary, which requests then name by its `id`."""
        key = await admitted(self._premises, request)
        pair, entries = await self._checked(body)
        kept = await in_thread(
            self._premises.store.create_glossary, body.name, {pair: entries}, key_id(key)
        )
        return GlossaryAnswer.of(kept, [entries])

    async def glossary(self, request: Request, identifier: str) -> GlossaryAnswer:
        """Get a glossary with its entries."""
        key = await admitted(self._premises, request)
        return await self._shown(identifier, key)

    async def replace_glossary(
        self, request: Request, identifier: str, body: GlossaryBody
    ) -> GlossaryAnswer:
        """Replace the name of a glossary and its entries of one direction, or add a direction."""
        key = await admitted(self._premises, request)
        pair, entries = await self._checked(body)
        await kept_glossary(self._premises, identifier, key)
        store, owner = self._premises.store, key_id(key)
        await in_thread(store.put_dictionary, identifier, *pair, entries, owner, name=body.name)
        return await self._shown(identifier, key)

    async def delete_glossary(self, request: Request, identifier: str) -> Response:
        """Delete a glossary."""
        key = await admitted(self._premises, request)
        await kept_glossary(self._premises, identifier, key)
        await in_thread(self._premises.store.delete_glossary, identifier, key_id(key))
        return Response(status_code=204)

    async def usage(self, request: Request) -> UsageAnswer:
        """Say how many characters the key has used in this month."""
        key = await admitted(self._premises, request)
        used = await in_thread(self._premises.store.used, key_id(key))
        limit = monthly_quota(key, self._premises.config.limits)
        return UsageAnswer(characters=used, characters_per_month=limit)

    async def _checked(self, body: GlossaryBody) -> tuple[Pairing, Entries]:
        """The direction and the entries of a glossary, if translators can use them."""
        entries = tuple(body.entries.items())
        await in_thread(glossary_of, entries)  # thousands take seconds
        return known_direction(self._premises.service, body.source, body.target), entries

    async def _shown(self, identifier: str, key: ApiKey | None) -> GlossaryAnswer:
        """A glossary with its entries."""
        kept = await kept_glossary(self._premises, identifier, key)
        entries = [
            await in_thread(
                self._premises.store.glossary_entries,
                identifier,
                one.source_language,
                one.target_language,
                key_id(key),
            )
            for one in kept.dictionaries
        ]
        return GlossaryAnswer.of(kept, [one or () for one in entries])
