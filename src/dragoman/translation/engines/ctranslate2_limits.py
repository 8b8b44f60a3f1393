"""Limits of CTranslate2 that can be asked for without loading it."""

from __future__ import annotations

from dragoman.search import SearchConfig


def search_refusal(config: SearchConfig) -> str | None:
    """The reason why CTranslate2 cannot search with these settings; None if it can.

    A remedy follows a semicolon.
    """
    if config.coverage_penalty:
        return (
            "the engine ctranslate2 has no coverage penalty; leave out --engine, or set "
            "search.coverage_penalty to 0"
        )
    if config.sampling is not None:
        return "the engine ctranslate2 draws no samples, which mbr needs, too; leave out --engine"
    if config.grammar != "any":
        return "the engine ctranslate2 has no grammar; leave out --engine"
    return None


def difference(config: SearchConfig) -> str | None:
    """The reason why CTranslate2 would find other hypotheses than Dragoman's search, if known."""
    if (refusal := search_refusal(config)) is not None:
        return refusal
    if config.nbest > 1:
        return "the engine ctranslate2 has other n-best lists"
    for name in ("minimum_length", "no_repeat_ngram"):
        if getattr(config, name):  # whose probabilities are over the allowed pieces
            return f"the engine ctranslate2 has other scores with {name}"
    return None
