"""Corpora that an index lists, on a server of ours: Moses in zip, TMX, TSV, and others."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from corpora_web import Web

from dragoman.workflows.corpora import mtdata_index

ENGLISH = [f"Sentence {number} is here." for number in range(50)]
KOREAN = [f"{number}번째 문장입니다." for number in range(50)]
REFERENCES = {
    "tiedemann2012parallel": {
        "line": "Tiedemann: Parallel Data, Tools and Interfaces in OPUS (2012)",
        "bibtex": "@inproceedings{tiedemann2012parallel, title = {Parallel Data}}",
    }
}


def zip_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def lines_of(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def moses(english: list[str], korean: list[str], **more: bytes) -> bytes:
    """A corpus as OPUS packs it."""
    sides = {"Small.en-ko.en": lines_of(english), "Small.en-ko.ko": lines_of(korean)}
    return zip_of(sides | {"README": b"About it.\n", "LICENSE": b"CC-BY\n"} | more)


def memory(english: list[str], korean: list[str], codes: tuple[str, str]) -> bytes:
    """A translation memory."""
    units = "".join(
        f'<tu><tuv xml:lang="{codes[0]}"><seg>{one}</seg></tuv>'
        f'<tuv xml:lang="{codes[1]}"><seg>{other}</seg></tuv></tu>'
        for one, other in zip(english, korean, strict=True)
    )
    return f'<tmx version="1.4"><header/><body>{units}</body></tmx>'.encode()


def entry(web: Web, path: str, kind: str, **more: Any) -> dict[str, Any]:
    facts = {"urls": [f"{web.address}/{path}"], "kind": kind, "members": [], "columns": []}
    return facts | {"citations": [], "hub": None, "subset": None} | more


def standard_index(web: Web) -> dict[str, dict[str, Any]]:
    """An index of small corpora, whose files the server gets."""
    table = b"".join(
        f"0.9\t{one}\t{other}\n".encode() for one, other in zip(ENGLISH, KOREAN, strict=True)
    )
    web.files |= {
        "OPUS-Small/v2/moses/en-ko.txt.zip": moses(ENGLISH, KOREAN),
        "OPUS-Other/v1/moses/en-ko.txt.zip": moses([*ENGLISH[:10], "New."], [*KOREAN[:10], "새."]),
        "table.tsv.gz": gzip.compress(table, mtime=0),
        "memory.tmx.gz": gzip.compress(memory(ENGLISH, KOREAN, ("en-US", "KO")), mtime=0),
    }
    members = {"members": ["*.en", "*.ko"], "citations": ["tiedemann2012parallel"]}
    return {
        "OPUS-small-v1-eng-kor": entry(web, "OPUS-Small/v1/moses/en-ko.txt.zip", "txt", **members),
        "OPUS-small-v2-eng-kor": entry(web, "OPUS-Small/v2/moses/en-ko.txt.zip", "txt", **members),
        "OPUS-other-v1-eng-kor": entry(web, "OPUS-Other/v1/moses/en-ko.txt.zip", "txt", **members),
        "Facebook-table-1-eng-kor": entry(web, "table.tsv.gz", "tsv.gz", columns=[1, 2]),
        "ELRC-memory-1-eng-kor_KR": entry(web, "memory.tmx.gz", "tmx.gz", licence="CC-BY-4.0"),
        "OPUS-small-v2-deu-zho_Hant": entry(web, "x.zip", "txt", **members),
        "Google-wmt24pp-1-eng-kor": entry(web, "x", "hfds", hub="google/wmt24pp", subset="en-ko"),
        "Motorola-sheet-1-eng-kor": entry(web, "x.xlsx", "xlsx"),
    }


def write_index(folder: Path, entries: dict[str, dict[str, Any]]) -> None:
    """Write an index where that of mtdata would be."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [("references", REFERENCES), *entries.items()]
    text = "".join(f"{name}\t{json.dumps(facts)}\n" for name, facts in rows)
    (folder / ".mtdata-9.tsv.gz").write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def index(web: Web, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The standard index."""
    monkeypatch.setattr(mtdata_index, "_version", lambda: "9")
    entries = standard_index(web)
    write_index(folder, entries)
    return entries
