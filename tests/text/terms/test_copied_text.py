from __future__ import annotations

import pytest

from dragoman.text.terms.copied_text import is_copied, is_intact, protected


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Click [X7X] now", ["[X7X]"]),
        ('An <x id="7"></x> {name}!', ['<x id="7">', "</x>", "{name}"]),
        ("%1$s of %s, see https://x.org/a?b=1.", ["%1$s", "%s", "https://x.org/a?b=1"]),
        ("Nothing [x] here, 20 % off", []),
        ("20%ige Lösung", []),
    ],
)
def test_marks_of_programs_are_found(text: str, marks: list[str]) -> None:
    assert [text[slice(*span)] for span in protected(text)] == marks


def test_text_without_letters_of_its_own_is_copied() -> None:
    assert is_copied("12 %, [X7X] {a}!")
    assert not is_copied("12 %, [X7X] a")
    assert not is_copied("三")
    assert is_copied("")


@pytest.mark.parametrize(
    "text",
    [
        "d41d8cd98f00b204e9800998ecf8427e",
        "(58190654)",
        "v1.2.3-rc1",
        "5.2.19",
        "2024-11-29 18:05",
        "123e4567-e89b-12d3-a456-426614174000",
        "SHA-256",
        "ISO-8859-1, CVE-2024-1234",
        "utf8mb4",
        "x86_64",
        "#ff8800 #f80",
        "0xDEADBEEF",
        "IPv4, mp3",
        "workflow_tasks",
        "lastModified",
        "WebAuthn",
        "--no-deps",
        "/etc/passwd",
        "C:\\\\Temp\\\\a.txt",
        "https://example.org/a?b=c",
        "a.b@example.org",
        "{count} / %(total)s",
        "🎉👍🏽",
        "…",
        "1,234.5 €",
    ],
)
def test_codes_numbers_and_signs_are_copied(text: str) -> None:
    assert is_copied(text)


@pytest.mark.parametrize(
    "text",
    [
        *("DELETE", "HTTP", "OUT1", "page1", "1st", "5min", "2.4GHz", "3D", "deadbeef", "decade"),
        *("Anna", "re-use", "T-shirt", "e.g.", "Type-2", "ÄÖ-1", "version 1.2.3", "#add"),
    ],
)
def test_words_are_translated(text: str) -> None:
    """Among them numbered words and units, which people translate."""
    assert not is_copied(text)


def test_marks_count_as_often_as_they_are_there() -> None:
    assert is_intact("[X1X] a [X1X]", "[X1X] b [X1X]")
    assert not is_intact("[X1X] a [X1X]", "[X1X] b")
    assert is_intact("a", "")
