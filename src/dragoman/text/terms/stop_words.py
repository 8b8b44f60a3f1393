"""Words that a term neither begins nor ends with."""

from __future__ import annotations

from collections import Counter

from dragoman.text.language_codes import base_language

_FREQUENT = 100
"""Number of the most frequent words that may be stop words of a language without a list."""
_SHORT = 3
"""Their maximum length in letters."""
_ENGLISH = """
a about above across after again against all almost also although always am among an and any are
around as at be because been before being below between both but by can cannot could did do does
doing don't done down during each either else etc even ever every few first for from further get
gets had has have having he her here hers him his how i if in instead into is isn't it its itself
just last least less let like made make makes many may me might more most much must my need needs
neither never no none nor not nothing now of off often on once one only onto or other others our
out over own per please possible same set several she should since so some such than that the their
them then there these they this those through to together too toward two under unless until up upon
us use used uses using very via want was we well were what when where whether which while who whose
why will with within without would yes yet you your yours
"""
_TYPOGRAPHIC = _ENGLISH.replace("'", "’")
_LISTS = {"en": frozenset(_ENGLISH.split()) | frozenset(_TYPOGRAPHIC.split())}


def stop_words(language: str, counts: Counter[str]) -> frozenset[str]:
    """Stop words of a language, in lower case.

    English has a list.  In any other language they are the words of at most three letters among the
    hundred most frequent, which are articles, pronouns and prepositions in most alphabetic scripts.
    Scripts in which a character is a word or a syllable have none.

    Args:
        language: such as ``en`` or ``zh-Hans``.
        counts: the count of each word in the text, in lower case.
    """
    code = base_language(language)
    if code in _LISTS:
        return _LISTS[code]
    frequent = [word for word, _ in counts.most_common(_FREQUENT)]
    return frozenset(
        word for word in frequent if len(word) <= _SHORT and max(word) < "\u1100" and word.isalpha()
    )
