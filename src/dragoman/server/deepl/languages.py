"""DeepL's language codes: in capitals, and with a region for targets."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.server.language_names import language_name
from dragoman.text.language_codes import base_language, spelling
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import Pairing, TranslationService

_VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}
"""Targets that DeepL has only with a region; its client refuses their codes without a region."""

FORMALITY_TAGS = {"more": "<formal>", "less": "<informal>"}
"""What a model is asked for that was trained with these tags."""


def deepl_code(language: str) -> str:
    """``EN`` for ``en``, ``PT-BR`` for ``pt_BR``."""
    return spelling(language).upper()


def same_language(one: str, other: str) -> bool:
    """Whether two codes are of the same language, ignoring regions."""
    return bool(fitting(one, [other]))


def glossary_direction(service: TranslationService, source: str, target: str) -> tuple[str, str]:
    """The pair of :func:`glossary_pairs` that two codes mean, or their base codes if none."""
    pairs = glossary_pairs(service)
    found = fitting(source, {pair["source_lang"] for pair in pairs})
    into = fitting(target, {pair["target_lang"] for pair in pairs})
    return (
        found[0] if found else base_language(source),
        into[0] if into else base_language(target),
    )


def sources(service: TranslationService) -> list[str]:
    """Source languages of a service, sorted."""
    return sorted({pair.source for pair in service.directions()})


def targets(service: TranslationService) -> list[str]:
    """Target languages of a service, sorted."""
    return sorted({pair.target for pair in service.directions()})


def target_codes(language: str) -> Sequence[str]:
    """The codes under which DeepL lists a target language."""
    return _VARIANTS.get(spelling(language), (deepl_code(language),))


def listed_sources(service: TranslationService) -> list[dict[str, str]]:
    """The answer of ``/v2/languages``."""
    return [
        {"language": deepl_code(language), "name": language_name(language)}
        for language in sources(service)
    ]


def listed_targets(service: TranslationService) -> list[dict[str, object]]:
    """The answer of ``/v2/languages?type=target``; slow with many languages."""
    into: dict[str, list[Pairing]] = {}
    for one in service.directions():
        into.setdefault(one.target, []).append(one)
    # A variant with a model of its region may also be listed for its language.
    # Requests may omit the source, so formality is offered only if every direction has it.
    listed = {
        code: all(has_formality(service, pair) for pair in directions)
        for language, directions in sorted(into.items())
        for code in target_codes(language)
    }
    return [
        {"language": code, "name": language_name(code), "supports_formality": is_supported}
        for code, is_supported in sorted(listed.items())
    ]


def has_formality(service: TranslationService, direction: Pairing) -> bool:
    """Whether translations of a direction can be formal or informal."""
    return set(FORMALITY_TAGS.values()) <= set(service.tags(direction))


def glossary_pairs(service: TranslationService) -> list[dict[str, str]]:
    """The answer of ``/v2/glossary-language-pairs``: languages without regions."""
    pairs = {
        (base_language(pair.source), base_language(pair.target)) for pair in service.directions()
    }
    return [{"source_lang": source, "target_lang": target} for source, target in sorted(pairs)]
