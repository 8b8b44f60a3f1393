"""HTML: which elements are paragraphs, and which are not translated."""

from __future__ import annotations

from dragoman.documents.marks.marked_document import (
    MarkedDocument,
    MarkupOptions,
    find_elements,
    mark_document,
)
from dragoman.documents.marks.markup_tokens import RAW_TEXT, MarkupToken, html_tokens

# Browsers show them as blocks or lines, or not at all.
_BEGINNING_TEXTS = """
    address article aside audio base basefont bgsound blockquote body br button canvas caption
    center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form
    frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html label legend li link listing main
    menu meta nav noframes noscript object ol optgroup option p plaintext pre search section select
    source summary table tbody td template textarea tfoot th thead title tr track ul video xmp
"""
# Programs, formulas, readings in <ruby>, what the user enters.  Not <kbd>: names of keys are words
# (Ctrl is Strg).
_NAMES_OF_NO_PROSE = """
    applet code embed iframe math noembed noframes object plaintext pre rp rt rtc samp script style
    svg textarea tt var xmp
"""
BLOCKS, NO_PROSE = frozenset(_BEGINNING_TEXTS.split()), frozenset(_NAMES_OF_NO_PROSE.split())


def read_html(
    text: str, options: MarkupOptions | None = None, *, is_xhtml: bool = False
) -> MarkedDocument:
    """The texts of a page or a fragment, well-formed or not.

    Not translated are comments, attributes, elements of code and formulas, and those with
    ``translate="no"`` or the class ``notranslate``.  Options name elements in any case.  XHTML is
    well-formed XML.
    """
    options = options or MarkupOptions()
    ignored = NO_PROSE | {name.lower() for name in options.ignored_tags}
    blocks = BLOCKS | {name.lower() for name in options.splitting_tags}
    blocks -= {name.lower() for name in options.non_splitting_tags}
    tokens, rest = _without_rest(list(html_tokens(text, is_xhtml=is_xhtml)))

    def splits(index: int) -> bool:
        return tokens[index].kind == "control" or tokens[index].name in blocks

    def hides(index: int) -> bool:
        token = tokens[index]
        return (
            token.name in ignored
            or token.attributes.get("translate", "").lower() == "no"
            or "notranslate" in token.attributes.get("class", "").split()
        )

    document = mark_document(tokens, find_elements(tokens), splits, hides, collapses=True)
    document.parts.append(rest)
    return document


def _without_rest(tokens: list[MarkupToken]) -> tuple[list[MarkupToken], str]:
    """The tokens without an unfinished end, and that end.

    It is a comment, a tag or a script that does not end, and might swallow text behind it.
    """
    end = len(tokens)
    if end and tokens[end - 1].kind == "opaque":
        end -= 1
    if end and tokens[end - 1].kind == "open" and tokens[end - 1].name in RAW_TEXT:
        end -= 1
    return tokens[:end], "".join(token.raw for token in tokens[end:])
