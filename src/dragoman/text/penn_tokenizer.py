"""English words as in the Penn Treebank, for parsers that learnt from it.

The rules are those of the treebank's own script (Robert MacIntyre 1995, "tokenizer.sed"): commas,
brackets and quotation marks are words, and so are ``'s``, ``n't`` and the halves of "cannot" and
"'tis". A full stop is a word only at the end of the sentence.  Opening quotation marks are written
``, closing ones '', and brackets as in trees.
"""

from __future__ import annotations

import re

from dragoman.core.constituency import escaped

_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[“„]", " `` "),
        (r"[”]", " '' "),
        (r"‘", "`"),
        (r"’", "'"),
        (r'(?:(?<=[\s(\[{<])|^)"', " `` "),
        (r'"', " '' "),
        (r"\.\.\.|…", " ... "),
        (r"[;@#$%&?!]", r" \g<0> "),
        (r"[,:](?!\d)", r" \g<0> "),
        (r"[\](){}<>[]", r" \g<0> "),
        (r"--|[–—]", " -- "),
        (r"""(?<=[^.\s])\.(?=[\s'")\]}>]*$)""", " . "),  # the end of the sentence
        (r"(?<=[^'\s])'(?=\s|$)", " '"),  # the players'
        (r"(?i)(?<=\w)('(?:s|m|d|ll|re|ve)|n't)\b", r" \1"),
        (r"(?i)\b(can)(not)\b", r"\1 \2"),
        (r"(?i)\b(gon|wan)(na)\b", r"\1 \2"),
        (r"(?i)\b(gim|lem)(me)\b", r"\1 \2"),
        (r"(?i)\b(got)(ta)\b", r"\1 \2"),
        (r"(?i)\b(d')(ye)\b", r"\1 \2"),
        (r"(?i)\b(more)('n)\b", r"\1 \2"),
        (r"(?i)(?<!\S)('t)(is|was)\b", r"\1 \2"),
    )
]


def penn_words(sentence: str) -> list[str]:
    """The words of one sentence of English."""
    for pattern, replacement in _RULES:
        sentence = pattern.sub(replacement, sentence)
    return [escaped(word) for word in sentence.split()]
