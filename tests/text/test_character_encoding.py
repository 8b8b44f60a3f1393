"""Bytes of files to text and back."""

from __future__ import annotations

import pytest

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import decode, decode_as

META = "<meta charset={}>"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("", "utf-8"),
        ("\ufeff", "utf-8"),
        ("\ufeff", "utf-16-le"),
        ("\ufeff", "utf-16-be"),
        (META.format("'windows-1251'"), "cp1251"),
        (META.format("Shift_JIS"), "cp932"),
        ('<META http-equiv=x content="text/html; charset=koi8-r">', "koi8-r"),
        ("<?xml version='1.0' encoding='iso-8859-5'?>", "iso8859-5"),
        (META.format("utf-16"), "utf-8"),
        ("\ufeff" + META.format("koi8-r"), "utf-8"),
    ],
)
def test_a_page_is_written_as_it_was_read(head: str, name: str) -> None:
    page = f"{head}<p>Да\r\n"
    text, encoding = decode(page.encode(name), is_page=True)
    assert text == page.lstrip("\ufeff")
    assert encoding.encode(text, is_markup=True) == page.encode(name)


def test_latin_1_is_read_as_browsers_read_it() -> None:
    content = META.format("iso-8859-1").encode() + b"\x80"
    text, encoding = decode(content, is_page=True)
    assert text.endswith("€")
    assert encoding.encode("€ ж", is_markup=True) == b"\x80 &#1078;"


def test_a_plain_text_declares_nothing() -> None:
    text, encoding = decode(META.format("koi8-r").encode() + "ж".encode(), is_page=False)
    assert text.endswith("ж")
    assert encoding.encode("ж\ud800", is_markup=False) == "ж?".encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ab\xff", "not UTF-8 at byte 3; convert it to UTF-8, or say in the page"),
        (b"\xff\xfea", "not UTF-16-LE at byte 3"),
        (b"a\x00b", "null characters"),
        (META.format("utf-7").encode(), "'utf-7', which is not read"),
        (META.format("base64").encode(), "'base64', which is not read"),
        (META.format("nonsense").encode(), "'nonsense', which is not read"),
        (META.format("big5").encode() + b"\xff", "not BIG5"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        decode(content, is_page=True)


@pytest.mark.parametrize(
    ("content", "label", "text", "name"),
    [
        ("Größe".encode("cp1252"), "windows-1252", "Größe", "cp1252"),
        ("Größe".encode(), "us-ascii", "Größe", "utf-8"),
        (b"size", "us-ascii", "size", "ascii"),
        ("\ufeffGröße".encode("utf-16-le"), "windows-1252", "Größe", "utf-16-le"),
    ],
)
def test_a_file_that_names_its_encoding(content: bytes, label: str, text: str, name: str) -> None:
    found, encoding = decode_as(content, label)
    assert (found, encoding.name) == (text, name)


@pytest.mark.parametrize(
    ("label", "message"),
    [("klingon", "'klingon', which is not read"), ("utf-8", "line 2 is not UTF-8, as the file")],
)
def test_a_wrong_name_of_an_encoding_is_refused(label: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        decode_as("ok\nGröße".encode("cp1252"), label)
