"""Gettext catalogues: what is missing or fuzzy is made, and all else stays."""

from __future__ import annotations

import polib
import pytest
from string_files import opened, texts, translated, written

from dragoman.core.errors import DataError

HEADER = 'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
PLURAL = '"Plural-Forms: nplurals=3; plural=n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2;\\n"\n'
CATALOGUE = rf"""# Copyright
{HEADER}{PLURAL}
#. note
#: a.c:1
#, c-format
msgid "%s has %d"
msgstr ""

msgctxt "menu"
msgid "One\n"
"two\n"
msgstr ""

#: b.c:2
msgid   "done"
msgstr   "zrobione"

#, fuzzy
#| msgid "old"
msgid "a \"word\"\t"
msgstr "stary"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

#~ msgid "gone"
#~ msgstr ""
""".replace('"zrobione"', '"zrobione"   ')


def test_what_is_missing_or_fuzzy_is_made_and_marked() -> None:
    assert texts("a.po", CATALOGUE, "pl") == [
        "%s has %d",
        "One",
        "two",
        'a "word"',
        "1 file",
        "3 files",
        "5 files",
    ]
    found = translated("a.po", CATALOGUE, "pl")
    expected = CATALOGUE.replace("#, c-format", "#, fuzzy, c-format")
    expected = expected.replace('%d"\nmsgstr ""', '%d"\nmsgstr "%s HAS %d"')
    expected = expected.replace("msgctxt", "#, fuzzy\nmsgctxt")
    expected = expected.replace('two\\n"\nmsgstr ""', 'two\\n"\nmsgstr ""\n"ONE\\n"\n"TWO\\n"')
    expected = expected.replace('"stary"', r'"A \"WORD\"\t"')
    expected = expected.replace('msgid "%d file"', '#, fuzzy\nmsgid "%d file"')
    expected = expected.replace('[0] ""', '[0] "%d FILE"')
    expected = expected.replace('[1] ""', '[1] "%d FILES"').replace('[2] ""', '[2] "%d FILES"')
    assert found == expected
    read = polib.pofile(found)
    assert [one.msgstr for one in read if "fuzzy" in one.flags][:3] == [
        "%s HAS %d",
        "ONE\nTWO\n",
        'A "WORD"\t',
    ]
    assert [one.msgid for one in read.obsolete_entries()] == ["gone"]


FORMS = """msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
"%d "
"plik"
msgstr[1] ""
msgstr[2]   "%d plików"
"""


def test_forms_that_a_person_has_written_stay_if_others_are_missing() -> None:
    content = f"{HEADER}{PLURAL}\n{FORMS}"
    assert texts("a.po", content, "pl") == ["3 files"]
    found = translated("a.po", content, "pl")
    assert found == content.replace('msgid "%d', '#, fuzzy\nmsgid "%d').replace(
        '[1] ""', '[1] "%d FILES"'
    )
    crlf = content.replace("\n", "\r\n")
    assert translated("a.po", crlf, "pl") == found.replace("\n", "\r\n")
    short = content.replace('msgstr[1] ""\n', "").replace("[2]", "[1]")
    read = polib.pofile(translated("a.po", short + 'msgstr[2] ""', "pl"))
    assert read[0].msgstr_plural == {0: "%d plik", 1: "%d plików", 2: "%d FILES"}
    fuzzy = content.replace('msgid "%d', '#, fuzzy\nmsgid "%d')
    assert len(texts("a.po", fuzzy, "pl")) == 3


def test_forms_are_known_by_their_numbers() -> None:
    lines = FORMS.replace('"%d "\n', "").splitlines(keepends=True)
    content = f"{HEADER}{PLURAL}\n" + "".join([*lines[:2], lines[5], lines[4], lines[2], lines[3]])
    read = polib.pofile(translated("a.po", content, "pl"))
    assert read[0].msgstr_plural == {0: "plik", 1: "%d FILES", 2: "%d plików"}


def test_placeholders_in_another_order_get_numbers_where_the_language_has_them() -> None:
    found = translated("a.po", CATALOGUE, "pl", by=lambda text: text.replace("%s has %d", "%d %s"))
    assert 'msgstr "%2$d %1$s"' in found


def test_a_template_gets_its_language_encoding_and_plural_forms() -> None:
    template = (
        'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset=CHARSET\\n"\n'
        '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\n'
        'msgid "day"\nmsgid_plural "%d days"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    read = polib.pofile(translated("a.pot", template, "ru"))
    assert read.metadata["Language"] == "ru"
    assert "charset=UTF-8" in read.metadata["Content-Type"]
    assert read.metadata["Plural-Forms"].startswith("nplurals=3; plural=(n%10==1")
    # The first form is for 21, too, so that the number is written.
    assert read[0].msgstr_plural == {0: "%d DAYS", 1: "%d DAYS", 2: "%d DAYS"}


def test_long_lines_are_wrapped_as_gettext_does_if_others_are() -> None:
    entry = '\nmsgid "word"\nmsgstr ""\n'
    long = "some words that go on " * 8
    found = translated("a.po", HEADER + entry, "pl", by=lambda _: long)
    assert max(map(len, found.splitlines())) < 80
    assert polib.pofile(found)[0].msgstr == long
    flat = f'{HEADER}\nmsgid "x"\nmsgstr "{long}"\n{entry}'
    assert f'msgid "word"\nmsgstr "{long}"' in translated("a.po", flat, "pl", by=lambda _: long)


def test_flags_are_in_front_of_what_a_message_was_before() -> None:
    # Behind it, they are a syntax error to msgfmt.
    before = '#: a.c:1\n{}#| msgid "old"\n#| "words"\nmsgid "new"\nmsgstr "{}"\n'
    found = translated("a.po", HEADER + before.format("", ""), "pl")
    assert found == HEADER + before.format("#, fuzzy\n", "NEW")


def test_an_encoding_that_lacks_the_translation_becomes_utf8() -> None:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n'
    content = f'{header}\nmsgid "caf\u00e9"\nmsgstr ""\n'.encode("latin1")
    assert written(opened("a.po", content)).decode("latin1").endswith('"CAF\u00c9"\n')
    found = written(opened("a.po", content), lambda _: "\u017c\u00f3\u0142").decode()
    assert "charset=UTF-8" in found
    assert found.endswith('msgid "caf\u00e9"\nmsgstr "\u017c\u00f3\u0142"\n')


def test_ascii_becomes_utf8_where_the_translation_is_none() -> None:
    # As msginit writes it in the locale C.
    content = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=ASCII\\n"\n\nmsgid "a"\nmsgstr ""\n'
    )
    assert "charset=ASCII" in translated("a.po", content)
    found = translated("a.po", content, by=lambda _: "ä")
    assert "charset=UTF-8" in found
    assert found.endswith('msgstr "ä"\n')


FIELD = '"Content-Type: text/plain; charset=UTF-8\\n"\n'
ENTRY = 'msgid "a"\nmsgstr ""\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f'msgid ""\nmsgstr {FIELD}\n'),
        ("# Copyright\n", f'msgid ""\nmsgstr {FIELD}\n# Copyright\n'),
        (
            'msgid ""\nmsgstr "Language: de\\n"\n\n',
            f'msgid ""\nmsgstr ""\n"Language: de\\n"\n{FIELD}\n',
        ),
        (
            'msgid ""\nmsgstr ""\n"Content-Type: text/plain\\n"\n"Language: de\\n"\n\n',
            f'msgid ""\nmsgstr ""\n{FIELD}"Language: de\\n"\n\n',
        ),
    ],
    ids=["no header", "no header but a comment", "no field", "no charset"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_catalogue_without_an_encoding_says_that_of_a_translation(
    before: str, after: str, newline: str
) -> None:
    content = (before + ENTRY).replace("\n", newline)
    found = translated("a.po", content, by=lambda _: "ä")
    entry = ENTRY.replace('msgstr ""', 'msgstr "ä"').replace("msgid", "#, fuzzy\nmsgid")
    assert found == (after + entry).replace("\n", newline)
    assert polib.pofile(found)[0].msgstr == "ä"
    assert "charset" not in translated("a.po", content)


def test_messages_of_icu() -> None:
    entry = '\nmsgid "{n, plural, one {# file} other {# files}}"\nmsgstr ""\n'
    found = translated("a.po", HEADER + entry, "pl")
    assert polib.pofile(found)[0].msgstr.endswith("many {# FILES} other {# FILES}}")


def test_line_ends_stay() -> None:
    content = CATALOGUE.replace("\n", "\r\n")
    assert translated("a.po", content, "pl") == translated("a.po", CATALOGUE, "pl").replace(
        "\n", "\r\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('msgid "a', "line 1"),
        ("msgid a", "line 1"),
        ("\nfoo", "line 2: not the syntax"),
        ('"a"', "line 1"),
        ('msgid "a"\n', "line 1: the entry is not one msgid"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr ""', "line 1: the entry is not one msgid"),
        ('msgid "a"\nmsgid "b"\nmsgstr ""', "line 1: the entry is not one msgid"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"', "line 1: the entry is not one msgid"),
        ('msgid "a"\n# x\nmsgstr ""', "line 2: the entry before this comment has no msgstr"),
        ('msgid ""\nmsgstr "charset=utf-7"', "line 2: .*'utf-7', which is not read"),
        (b'msgid ""\nmsgstr "charset=UTF-8"\n\xff', "line 3: not UTF-8, as the header says"),
        ('msgid ""\nmsgstr "Language: fr\\n"\n', "into 'fr', not 'de'"),
        ('msgid ""\nmsgstr "X-Source-Language: fr\\n"\n', "in 'fr', not 'en'"),
        (
            'msgid ""\nmsgstr "Plural-Forms: nplurals=99; plural=n;\\n"\n\n'
            'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""',
            "nplurals=99",
        ),
    ],
)
def test_bad_catalogues(content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.po", content, source="en")


def test_strings_on_the_next_line_and_beside_others_are_filled() -> None:
    content = (
        f'{HEADER}{PLURAL}\ndomain "x"\nmsgid\n"a" "b"\nmsgstr\n""\n\nmsgid "%d c"\n'
        'msgid_plural "%d d"\nmsgstr[0]\n""\nmsgstr [1] "" ""\nmsgstr[2] ""'
    )
    assert texts("a.po", content, "pl") == ["ab", "1 c", "3 d", "5 d"]
    found = translated("a.po", content, "pl")
    assert found == content.replace("msgid\n", "#, fuzzy\nmsgid\n").replace(
        'msgstr\n""', 'msgstr "AB"'
    ).replace('msgid "%d', '#, fuzzy\nmsgid "%d').replace('[0]\n""', '[0] "%d C"').replace(
        'msgstr [1] "" ""', 'msgstr[1] "%d D"'
    ).replace('[2] ""', '[2] "%d D"')


def test_the_encoding_of_the_header_is_read_and_changed_wherever_else_one_is_named() -> None:
    content = (
        '# charset=utf-8, said somebody\nmsgid ""\nmsgstr "Content-Type: text/plain; char" '
        '"set=KOI8-R\\n"\n\nmsgid "дом"\nmsgstr ""\n'
    ).encode("koi8-r")
    assert texts("a.po", content) == ["дом"]
    assert "ДОМ" in written(opened("a.po", content)).decode("koi8-r")
    found = written(opened("a.po", content), lambda _: "süß").decode()
    assert found.startswith("# charset=utf-8, said somebody\n")
    assert '\n"Content-Type: text/plain; charset=UTF-8\\n"\n' in found
    assert found.endswith('msgid "дом"\nmsgstr "süß"\n')
