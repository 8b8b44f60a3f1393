"""A text in which some parts are written anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.edited_text import edited


@given(parts=st.lists(st.tuples(st.text(), st.text(), st.text())), tail=st.text())
def test_what_is_between_stays(parts: list[tuple[str, str, str]], tail: str) -> None:
    """Each part: what is in front of it, the old words and the new ones."""
    text, edits = "", []
    for between, old, new in parts:
        start = len(text + between)
        text += between + old
        edits.append((start, len(text), new))
    expected = "".join(between + new for between, _, new in parts) + tail
    assert edited(text + tail, edits) == expected
