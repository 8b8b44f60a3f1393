"""HTML: which elements are paragraphs, and which are not translated."""

from __future__ import annotations

from dragoman.documents.marked_document import (
    MarkedDocument,
    MarkupOptions,
    Reading,
    find_elements,
    mark_document,
)
from dragoman.documents.markup_tokens import html_tokens

# Browsers show them as blocks or lines, or not at all.
_BEGINNING_TEXTS = """
    address article aside audio base basefont bgsound blockquote body br button canvas caption
    center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame
    frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li link listing main menu meta nav
    noframes noscript object ol optgroup option p plaintext pre rp rt search section select source
    summary table tbody td template textarea tfoot th thead title tr track ul video xmp
"""
# Programs, formulas, what the user types.
_NO_PROSE = """
    applet code embed iframe kbd math noembed noframes object plaintext pre samp script style svg
    textarea tt var xmp
"""
_BLOCKS, _HIDDEN = frozenset(_BEGINNING_TEXTS.split()), frozenset(_NO_PROSE.split())


def read_html(text: str, options: MarkupOptions | None = None) -> MarkedDocument:
    """The texts of a page or a fragment.

    Not translated are comments, attributes, elements of code and formulas, and those with
    ``translate="no"`` or the class ``notranslate``.

    Args:
        text: as it was sent, well-formed or not.
        options: names of elements in any case.
    """
    options = options or MarkupOptions()
    ignored = _HIDDEN | {name.lower() for name in options.ignored_tags}
    blocks = _BLOCKS | {name.lower() for name in options.splitting_tags}
    blocks -= {name.lower() for name in options.non_splitting_tags}
    tokens = list(html_tokens(text))

    def splits(index: int) -> bool:
        token = tokens[index]
        # At the end, it may be a tag or a comment without an end: nothing may come after it.
        is_last = token.kind == "opaque" and index == len(tokens) - 1
        return token.name in blocks or is_last

    def hides(index: int) -> bool:
        token = tokens[index]
        return (
            token.name in ignored
            or token.attributes.get("translate", "").lower() == "no"
            or "notranslate" in token.attributes.get("class", "").split()
        )

    return mark_document(tokens, find_elements(tokens), Reading(splits, hides, collapses=True))
