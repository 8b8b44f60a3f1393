"""Dictionaries: lines of pairs, and those of dictd."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.terms.bilingual_dictionary import read_dictionary

# As FreeDict writes its articles.
ARTICLES = {
    "00-database-info": "00-database-info\nof no interest\n",
    "hund": (
        "Hund /hˈʊnt/ <masc, n, sg>\n [zool.] dog <n>, dawg <n> [Am.] \n"
        '         Note: speech\n      "den Hund abrichten"  - train, teach\n see: {Hunde}\n\n'
    ),
    "hund ": "Hund /hˈʊnt/ <masc>\n1. canine <n>, mine car <n>, K-9 <n> (of the police)\n",
    "rot": "rot /rˈoːt/ <adj>\nred <adj>\nrot sein /rˈoːt zaɪn/ <v>\nblush <v>\n",
    "rot werden": "rot werden /rˈoːt/ <v>\nflush <v>\n",
}
SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def base64(number: int) -> str:
    return (base64(number // 64) if number >= 64 else "") + SIGNS[number % 64]


def dictd(folder: Path, suffix: str = ".dict.dz") -> Path:
    content, index = b"", ""
    for word, article in ARTICLES.items():
        coded = article.encode()
        index += f"{word.strip()}\t{base64(len(content))}\t{base64(len(coded))}\n"
        content += coded
    (folder / "deu-eng.index").write_text(index, encoding="utf-8")
    packed = gzip.compress(content) if suffix.endswith("dz") else content
    (folder / f"deu-eng{suffix}").write_bytes(packed)
    return folder / "deu-eng.index"


@pytest.mark.parametrize(
    "content", ["Hund\tdog\nrot\tred\n\nHund\thound\n", "Hund dog\nrot  red\nHund hound\n"]
)
def test_lines_of_pairs(tmp_path: Path, content: str) -> None:
    path = tmp_path / "de-en.txt"
    path.write_text(content, encoding="utf-8")
    assert read_dictionary(path) == {"Hund": ("dog", "hound"), "rot": ("red",)}
    assert read_dictionary(path, ["hund", "blau"]) == {"Hund": ("dog", "hound")}


def test_phrases_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "de-en.tsv"
    path.write_text("zum Beispiel\tfor  example\n", encoding="utf-8")
    assert read_dictionary(path) == {"zum Beispiel": ("for example",)}


@pytest.mark.parametrize("suffix", [".dict.dz", ".dict"])
def test_single_words_of_dictd(tmp_path: Path, suffix: str) -> None:
    index = dictd(tmp_path, suffix)
    expected = {"Hund": ("dog", "dawg", "canine", "K-9"), "rot": ("red", "blush")}
    assert read_dictionary(index) == expected
    assert read_dictionary(tmp_path / f"deu-eng{suffix}") == expected
    assert read_dictionary(index, ["ROT"]) == {"rot": expected["rot"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "Hund\n",
            r":1: expected a word and its translation with a tab between them, found 'Hund'",
        ),
        ("a b c\n", r":1: expected"),
        ("a\tb\tc\n", r":1: expected"),
        ("a\tb\n\tc\n", r":2: expected"),
    ],
)
def test_lines_without_two_words(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "de-en.tsv"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_dictionary(path)


def test_damaged_dictd(tmp_path: Path) -> None:
    index = dictd(tmp_path, ".dict")
    articles = tmp_path / "deu-eng.dict"
    articles.write_bytes(articles.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"deu-eng.dict: shorter than .*deu-eng.index says"):
        read_dictionary(index)
    articles.write_bytes(articles.read_bytes().replace("ˈ".encode(), b"\xff\xff"))
    with pytest.raises(DataError, match=r"deu-eng.dict: an article is not UTF-8"):
        read_dictionary(index)
    articles.unlink()
    with pytest.raises(DataError, match=r"deu-eng.dict.dz: no such file"):
        read_dictionary(index)
    for length in ("!", "A" * 11):
        index.write_text(f"Hund\tA\t{length}\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"deu-eng.index:1: expected a word, a place and a len"):
            read_dictionary(index)
