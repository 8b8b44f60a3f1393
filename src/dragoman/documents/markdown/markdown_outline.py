"""The outline of a block of Markdown, which a translation must keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markdown_it.token import Token

from dragoman.documents.markdown.markdown_dialects import NO_TEXT
from dragoman.documents.markdown.markdown_inline import Environment, is_text, shape_of
from dragoman.documents.marks.outline import OutlineBlock

_CODE = frozenset(["code_block", "fence", NO_TEXT])


def block_of(
    token: Token, texts: Sequence[int], kept: Sequence[str], cells: Sequence[Token] = ()
) -> OutlineBlock:
    """A block as it is read.

    Args:
        token: of the parser.
        texts: indices of the texts that it has.
        kept: the placeholders of these.
        cells: of a row, which has the texts of all of them.
    """
    if token.type == "inline":
        children = token.children or []
        codes = [shape_of([one]) for one in children if not is_text(one)]
        return OutlineBlock(codes, "".join(_words(children)), kept, texts)
    content = token.content if token.type in _CODE else ""
    attributes = " ".join(f"{name}={value}" for name, value in token.attrs.items())
    code = f"{token.type} {token.tag} {attributes} {token.info} {content}"
    words = [one for cell in cells for one in _words(cell.children or [])]
    return OutlineBlock([code], "".join(words) if cells else token.content, kept, texts)


def references_of(environment: Environment) -> list[str]:
    """The definitions of references of a document."""
    found = environment.get("references", {})
    return [f"[{label}]: {one['href']}" for label, one in found.items()]


def _words(tokens: Iterable[Token]) -> Iterator[str]:
    """The text of a paragraph, with that of images and titles."""
    for token in tokens:
        yield " " if token.type in {"softbreak", "hardbreak"} else ""
        yield from _words(token.children) if token.children else [token.content]
        if title := token.attrGet("title"):
            yield f" {title} "
