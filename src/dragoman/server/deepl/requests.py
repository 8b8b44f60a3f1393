"""Common parts of requests for texts and documents: languages, formality and glossaries."""

from __future__ import annotations

from dragoman.core.wording import shown
from dragoman.server.database.glossaries_store import one_of_each
from dragoman.server.database.records import KeptDictionary
from dragoman.server.database.server_store import in_thread
from dragoman.server.deepl.languages import (
    FORMALITY_TAGS,
    deepl_code,
    glossary_direction,
    has_formality,
    same_language,
    sources,
    targets,
)
from dragoman.server.deepl.parameters import DeepLParameters, invalid, unsupported_value
from dragoman.server.dependencies import Dependencies
from dragoman.server.language_names import known_direction
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import (
    Pairing,
    RefusedError,
    TextRequest,
    TranslationService,
)

_FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
_MOST_GLOSSARIES = 5

_UNSUPPORTED = {
    "style_id": "style rules",
    "translation_memory_id": "translation memories",
    "custom_instructions": "custom instructions",
}


async def common_request(
    server: Dependencies, parameters: DeepLParameters, key: int | None
) -> TextRequest:
    """A request without text, with the languages, tags and glossary of the parameters.

    Raises:
        RefusedError: ``invalid``, or ``not_found`` if the glossary does not exist.
    """
    service = server.service
    target, source = parameters.required("target_lang"), parameters.text("source_lang")
    known = {*sources(service), *targets(service)}
    # A text already in its target language stays unchanged, if the service has this language.
    is_same = source is not None and same_language(source, target) and fitting(target, known)
    if not is_same and not fitting(target, targets(service)):
        raise unsupported_value("target_lang", _listed(targets(service)))
    if not is_same and source is not None and not fitting(source, sources(service)):
        raise unsupported_value("source_lang", _listed(sources(service)))
    for name, what in _UNSUPPORTED.items():
        if parameters.has(name):
            raise invalid(f"'{name}' is not supported: this server has no {what}.")
    tags = _formality_tags(service, parameters, source, target)
    glossary = await _glossary(server, parameters, source, target, key)
    return TextRequest("", target=target, source=source, tags=tags, glossary=glossary)


def _listed(languages: list[str]) -> str:
    return f"It is one of {', '.join(map(deepl_code, languages))}."


def _formality_tags(
    service: TranslationService, parameters: DeepLParameters, source: str | None, target: str
) -> tuple[str, ...]:
    formality = parameters.choice("formality", _FORMALITIES)
    if formality in (None, "default"):
        return ()
    into = set(fitting(target, targets(service)))
    origins = set(fitting(source, sources(service)) if source else sources(service))
    meant = [
        pair for pair in service.directions() if pair.target in into and pair.source in origins
    ]
    # The source may be unknown yet, and a model without the tag would refuse the request.
    if meant and all(has_formality(service, one) for one in meant):
        return (FORMALITY_TAGS[formality.removeprefix("prefer_")],)
    if formality.startswith("prefer_"):
        return ()
    raise invalid(
        "'formality' is not supported for given 'target_lang'. Use prefer_more or prefer_less, "
        "which ask for it where it is."
    )


async def _glossary(
    server: Dependencies,
    parameters: DeepLParameters,
    source: str | None,
    target: str,
    key: int | None,
) -> Glossary | None:
    identifiers = parameters.names("glossary_ids")
    if single := parameters.text("glossary_id"):
        if identifiers:
            raise invalid("Either 'glossary_id' or 'glossary_ids', not both.")
        identifiers = (single,)
    if not identifiers:
        return None
    if source is None:
        raise invalid("Use of a glossary requires the source_lang parameter to be specified.")
    if len(identifiers) > _MOST_GLOSSARIES:
        raise unsupported_value("glossary_ids", f"It has at most {_MOST_GLOSSARIES} glossaries.")
    found = [
        await _dictionary(server, identifier, source, target, key) for identifier in identifiers
    ]

    def entries() -> list[tuple[str, str]]:
        terms: list[tuple[str, str]] = []
        for identifier, dictionary in zip(identifiers, found, strict=True):
            kept = server.store.glossary_entries(
                identifier, dictionary.source_language, dictionary.target_language, key
            )
            terms += kept or ()
        # The first glossary with a term takes precedence.
        return one_of_each(reversed(terms))

    revisions = tuple(one.revision for one in found)
    return await in_thread(server.glossaries.get, revisions, entries)


async def _dictionary(
    server: Dependencies, identifier: str, source: str, target: str, key: int | None
) -> KeptDictionary:
    glossary = await in_thread(server.store.glossary, identifier, key)
    if glossary is None:
        raise RefusedError("not_found", f"Glossary not found: {shown(identifier)}.")
    dictionary = glossary.dictionary(*glossary_direction(server.service, source, target))
    # A dictionary kept through our own API has a region if the service's language has a region.
    if dictionary is None and (of_region := _known(server.service, source, target)) is not None:
        dictionary = glossary.dictionary(*of_region)
    if dictionary is None:
        raise invalid(
            f"The glossary {identifier} has no dictionary for {deepl_code(source)} to "
            f"{deepl_code(target)}."
        )
    return dictionary


def _known(service: TranslationService, source: str, target: str) -> Pairing | None:
    """The direction of a service that matches two codes, if any."""
    try:
        return known_direction(service, source, target)
    except RefusedError:
        return None
