"""Gettext catalogues are read as msgfmt reads them."""

from __future__ import annotations

import gettext
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.po_catalogue import (
    CatalogueError,
    PoEntry,
    po_string,
    read_catalogue,
    read_entries,
)

Message = tuple[str | None, str, str | None, tuple[str, ...]]
"""Context, message, its plural, translations."""


def message(entry: PoEntry) -> Message:
    return (
        None if entry.msgctxt is None else entry.msgctxt.value,
        entry.msgid.value,
        None if entry.msgid_plural is None else entry.msgid_plural.value,
        tuple(one.value for one in entry.msgstr),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('msgid "a" "b"\nmsgstr "c" "d"\n"e"', [(None, "ab", None, ("cde",))]),
        ('msgid\n"a"\nmsgstr\n\n"b"\n\n"c"', [(None, "a", None, ("bc",))]),
        (
            'msgid "a"msgstr"b"msgid"c"msgstr ""',
            [(None, "a", None, ("b",)), (None, "c", None, ("",))],
        ),
        (
            'msgid "a"\nmsgid_plural\n"b"\nmsgstr[0]\n"c"\nmsgstr [ 1 ] "d"\nmsgstr[2]"e"',
            [(None, "a", "b", ("c", "d", "e"))],
        ),
        (
            'domain "x"\nmsgid "a"\nmsgstr "b"\ndomain\n"y"\nmsgctxt "c"\nmsgid "a"\nmsgstr "d"\n',
            [(None, "a", None, ("b",)), ("c", "a", None, ("d",))],
        ),
        ('\f \tmsgid \v"a"\r\nmsgstr "b" # said\r\n', [(None, "a", None, ("b",))]),
        ('msgid "a\\\n b"\nmsgstr "c\\\r\nd"', [(None, "a b", None, ("cd",))]),
        (
            '#\n# a\n#. b\n#: c\n#~| msgid "d"\n#~ msgid "e"\n#~ msgstr "f"\n#~msgid "g"\n'
            '#| msgctxt "h"\n#| msgid ""\n#| "i"\n#= j\nmsgid "a"\nmsgstr "b"\n#~ msgid "k"',
            [(None, "a", None, ("b",))],
        ),
        (
            'msgid "\\"\\t\\\\n\\?"\nmsgstr "\\x41\\101\\303\\251"',
            [(None, '"\t\\n?', None, ("AAé",))],
        ),
        ('msgctxt ""\nmsgid ""\nmsgstr "a"', [("", "", None, ("a",))]),
        ("", []),
        ("# a\n", []),
    ],
)
def test_what_msgfmt_reads(text: str, expected: list[Message]) -> None:
    assert list(map(message, read_entries(text))) == expected


def test_a_message_with_an_empty_context_is_no_header() -> None:
    catalogue = read_catalogue(b'msgctxt ""\nmsgid ""\nmsgstr "charset=koi8-r"\n')
    assert (catalogue.header, catalogue.encoding) == (None, "utf-8")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('msgid "a"\n\nmsgstr\nmsgid "b"\nmsgstr "c"', 3, "no string follows msgstr"),
        ('msgid "a\nmsgstr "b"', 1, "a string has no end"),
        ('\n"a"', 2, "none begins"),
        ('msgid "a"\nmsgstr "b"\n"c" x', 3, "not the syntax"),
        ('msgid "a"\nmsgstr[x] "b"', 2, "not the syntax"),
        ('msgidx "a"', 1, "not the syntax"),
        ('msgid "a"\nmsgstr \u00a0"b"', 2, "not the syntax"),
        ('domain "a"\nmsgstr "b"', 1, "not one msgid"),
        ('\nmsgid "a"\nmsgstr[0] "b"\nmsgid "c"', 2, "not one msgid"),
        ('msgid "a"\nmsgid_plural "b"\n', 1, "not one msgid"),
        ('msgid "a"\nmsgstr "b"\nmsgid_plural "c"', 1, "not one msgid"),
    ],
)
def test_what_msgfmt_refuses(text: str, line: int, problem: str) -> None:
    with pytest.raises(CatalogueError, match=problem) as error:
        read_entries(text)
    assert error.value.line == line


def header(charset: str) -> str:
    fields = '"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; '
    return f'# charset=none\nmsgid ""\nmsgstr {fields}charset={charset}\\n"\n'


@pytest.mark.parametrize(
    ("charset", "word"),
    [
        ("ISO-8859-1", "Öl"),
        ("iso8859-15", "œuf €"),
        ("CP1252", "“Öl”"),
        ("KOI8-R", "дом"),
        ("windows-1251", "дом"),
        ("EUC-JP", "表示"),
        ("Shift_JIS", "表示"),  # the second byte of whose first character is a backslash
        ("BIG5", "功能"),
        ("GB18030", "功能"),
        ("EUC-KR", "집"),
        ("TIS-620", "บ้าน"),
        ("UTF-8", "😀"),
        ("CHARSET", "é"),
        ("ASCII", "é"),
    ],
)
def test_every_catalogue_is_read_in_the_encoding_that_it_says(charset: str, word: str) -> None:
    encoding = "utf-8" if charset in ("CHARSET", "ASCII") else charset
    content = f'{header(charset)}\nmsgid "a"\nmsgstr "{word}"\n'.encode(encoding)
    found = read_catalogue(content)
    assert found.entries[1].msgstr[0].value == word
    assert found.text.encode(found.encoding) == content


def test_a_byte_order_mark_says_the_encoding() -> None:
    text = f'{header("UTF-8")}\nmsgid "a"\nmsgstr "é"\n'
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le")):
        found = read_catalogue(mark + text.encode(encoding))
        assert (found.mark, found.encoding, found.text) == (mark, encoding, text)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (header("utf-7").encode(), 4, "'utf-7', which is not read; convert the file to UTF-8"),
        (header("x\\u0000y").encode(), 4, "which is not read"),
        (header("utf-8").encode() + b"\n# \xe9", 6, "not UTF-8, as the header says"),
        (b'msgid "a"\nmsgstr "\xe9"', 2, "not UTF-8, which a header without charset means"),
    ],
)
def test_other_encodings_are_named_with_the_line(content: bytes, line: int, problem: str) -> None:
    with pytest.raises(CatalogueError, match=problem) as error:
        read_catalogue(content)
    assert error.value.line == line


SPACES = st.sampled_from([" ", "\n", "\t", "\r\n", "\n\n", "  ", "\f"])
COMMENTS = st.sampled_from(["", "# c\n", "#: a.c:1\n", "#, c-format\n", "#. d\n", "#\n"])
# msgfmt wants that a message and its translation begin and end alike.
WORDS = st.text('ab é\n\t"\\語', min_size=1, max_size=6).map("<{}>".format)
ESCAPES = {"\n": ["\\n", "\\012"], "\t": ["\\t", "\t"], '"': ['\\"', "\\042"], "\\": ["\\\\"]}


@st.composite
def strings(draw: st.DrawFn, value: str) -> str:
    """A string as one of the many ways to write it."""
    written = [draw(st.sampled_from(ESCAPES.get(sign, [sign]))) for sign in value]
    cuts = sorted(draw(st.lists(st.integers(0, len(written)), max_size=2)))
    parts = ["".join(written[a:b]) for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    return "".join(f'{draw(SPACES)}"{part}"' for part in parts)


@st.composite
def catalogues(draw: st.DrawFn) -> tuple[str, list[Message]]:
    """A catalogue, and what is in it."""
    messages: list[Message] = []
    text = header("UTF-8")
    for name in draw(st.lists(WORDS, min_size=1, max_size=4, unique=True)):
        context = draw(st.none() | WORDS)
        plural = draw(st.none() | WORDS)
        forms = tuple(draw(WORDS) for _ in range(2 if plural else 1))
        text += draw(SPACES) + draw(COMMENTS).join(["\n", ""])
        if context is not None:
            text += "msgctxt" + draw(strings(context)) + draw(SPACES)
        text += "msgid" + draw(strings(name)) + draw(SPACES)
        if plural is not None:
            text += "msgid_plural" + draw(strings(plural)) + draw(SPACES)
        for number, form in enumerate(forms):
            keyword = f"msgstr[{number}]" if plural else "msgstr"
            text += keyword + draw(strings(form)) + draw(SPACES)
        messages.append((context, name, plural, forms))
    return text, messages


@given(catalogues())
def test_however_it_is_written_it_says_the_same(catalogue: tuple[str, list[Message]]) -> None:
    text, messages = catalogue
    found = read_catalogue(text.encode())
    assert [message(one) for one in found.entries[1:]] == messages
    assert [found.text[one.msgid.start :][:5] for one in found.entries] == ["msgid"] * (
        len(messages) + 1
    )


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="msgfmt of gettext is not installed")
@settings(max_examples=25)
@given(catalogues())
def test_msgfmt_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, catalogue: tuple[str, list[Message]]
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "a.po"
    path.write_bytes(catalogue[0].encode())
    made = subprocess.run(["msgfmt", "-o", "-", path], capture_output=True, check=True)
    known = gettext.GNUTranslations(io.BytesIO(made.stdout))
    for entry in read_catalogue(path.read_bytes()).entries[1:]:
        context, name, plural, forms = message(entry)
        place = name if context is None else f"{context}\x04{name}"
        if plural is None:
            assert known.gettext(place) == forms[0]
        else:
            assert (known.ngettext(place, "", 1), known.ngettext(place, "", 2)) == forms


@given(
    value=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    width=st.sampled_from([0, 10, 79]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_a_string_that_is_written_is_read_again(value: str, width: int, newline: str) -> None:
    written = po_string("msgid", value, width, newline)
    (entry,) = read_entries(f'{written}{newline}msgstr "a"')
    assert entry.msgid.value == value


def test_strings_are_wrapped_as_gettext_does() -> None:
    assert po_string("msgstr", "one two", 79, "\n") == 'msgstr "one two"'
    lines = po_string("msgstr", "one two three\nfour", 12, "\n").split("\n")
    assert lines == ['msgstr ""', '"one two "', '"three\\n"', '"four"']
    assert po_string("msgstr", "one two three", 0, "\n") == 'msgstr "one two three"'


def test_which_entries_need_a_translation() -> None:
    catalogue = (
        '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\n#| msgid "old"\nmsgid "c"\nmsgstr "d"\n\n'
        'msgid "e"\nmsgid_plural "f"\nmsgstr[0] "g"\nmsgstr[1] ""\n'
    )
    fuzzy, done, half = read_entries(catalogue)
    assert [one.needs_translation for one in (fuzzy, done, half)] == [True, False, True]
    assert [len(one.done) for one in (fuzzy, done, half)] == [0, 1, 1]
    assert catalogue[done.start :].startswith("#| msgid")
    with pytest.raises(CatalogueError, match="line 2: the entry before this comment has no msgstr"):
        read_entries('msgid "a"\n# b\nmsgstr "c"')
