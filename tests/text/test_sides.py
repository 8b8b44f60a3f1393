from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.corpus import CorpusPart
from dragoman.text.sides import language_of_file, offered_sides

TMX = """<tmx version="1.4"><body>
<tu><tuv xml:lang="en-US"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>c</seg></tuv></tu></body></tmx>"""
JSONL = """{"id": 3, "translation": {"en": "a", "de": "b"}, "note": null}
not JSON
{"translation": {"en": "a", "ko": "c"}}
"""


def offered(path: Path) -> list[str]:
    return offered_sides(CorpusPart.model_construct(path=str(path)))


def test_each_format_tells_its_sides(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"id\ten\tzh-Hans\n1\ta\tb\n"))
    (tmp_path / "a.tmx").write_text(TMX)
    (tmp_path / "a.jsonl").write_text(JSONL)
    assert offered(tmp_path / "a.tsv.gz") == ["id", "en", "zh-Hans"]
    assert offered(tmp_path / "a.tmx") == ["en-US", "de", "fr"]
    keys = ["translation.en", "translation.de", "translation.ko"]
    assert offered(tmp_path / "a.jsonl") == keys
    with pytest.raises(DataError, match=r"b\.tsv"):
        offered(tmp_path / "b.tsv")


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.en", "en"), ("a/val.zh-Hans.xz", "zh-Hans"), ("train", None), ("text.gz", None)],
)
def test_suffixes(name: str, language: str | None) -> None:
    assert language_of_file(Path(name)) == language
