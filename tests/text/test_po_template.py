"""A catalogue without translations."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.po_catalogue import read_catalogue
from dragoman.text.po_template import emptied

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9)
ENTRY = st.tuples(TEXT, TEXT, st.booleans(), st.booleans())


def written(entries: list[tuple[str, str, bool, bool]]) -> str:
    """A catalogue of messages with translations, some with plural forms, some fuzzy."""
    parts = [
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    ]
    for number, (source, target, is_plural, is_fuzzy) in enumerate(entries):
        message = json.dumps(f"{source} {number}", ensure_ascii=False)
        text = json.dumps(target, ensure_ascii=False)
        lines = [f"#: a.c:{number}", *(["#, fuzzy, c-format"] if is_fuzzy else ["#, c-format"])]
        lines += [f"msgid {message}"]
        lines += [f"msgid_plural {message}"] if is_plural else []
        lines += [f"msgstr[{n}] {text}" for n in (0, 1, 2)] if is_plural else [f"msgstr {text}"]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


@given(st.lists(ENTRY, max_size=5))
def test_messages_stay_and_translations_do_not(
    entries: list[tuple[str, str, bool, bool]],
) -> None:
    content = written(entries).encode()
    before, after = read_catalogue(content), read_catalogue(emptied(content))
    assert [one.messages for one in after.entries] == [one.messages for one in before.entries]
    assert all(one.flags == ("c-format",) and not any(one.forms) for one in after.entries[1:])
    assert after.fields.keys() == {"content-type"}
    assert all(f"#: a.c:{number}" in after.text for number in range(len(entries)))
    assert emptied(emptied(content)) == emptied(content)


def test_without_a_header_in_another_encoding() -> None:
    text = 'msgid "a"\nmsgstr "b"\n#~ msgid "c"\n#~ msgstr "d"\n'
    assert emptied(text.encode()) == b'msgid "a"\nmsgstr ""\n'
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    latin = f'{header}# é\nmsgid "a"\nmsgstr "ü"\n'.encode("latin-1")
    assert emptied(latin) == latin.replace(b"\xfc", b"")
