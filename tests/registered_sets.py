"""Small test sets among those that sacrebleu knows, downloaded from a server of ours."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5
from pathlib import Path

import pytest
from corpora_web import Web, segments, tar_of
from sacrebleu.dataset import DATASETS
from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from sacrebleu.dataset.wmt_xml import WMTXMLDataset

from dragoman.text.sacrebleu_sets import set_files

SOURCES = ["one hundred euros", "the third day", "seven &amp; eight", "a b c d e"]
REFERENCES = [
    ["hundert Euro", "der dritte Tag", "sieben &amp; acht", "a b c d e f"],
    ["einhundert Euro", "der dritte der Tage", "sieben und acht", "a b c d e g"],
]

Register = Callable[..., None]
"""Adds a set: ``register(web, name="small", md5="...")``."""


def wmt_xml(translators: str = "AB", *, skip: str = "") -> str:
    """The set as WMT has published them since 2021.

    Args:
        translators: of the references.
        skip: a translator without a text for the last segment.
    """

    def part(name: str, lines: list[str], attributes: str, *, without_last: bool = False) -> str:
        marked = [f'<seg id="{n}">{line}</seg>' for n, line in enumerate(lines, 1)]
        kept = marked[:-1] if without_last else marked
        return f"<{name} {attributes}><p>{''.join(kept)}</p></{name}>"

    found = zip(translators, REFERENCES, strict=False)
    references = "".join(
        part("ref", lines, f'lang="de" translator="{name}"', without_last=name == skip)
        for name, lines in found
    )
    source, output = part("src", SOURCES, 'lang="en"'), part("hyp", SOURCES, 'system="x" lang="de"')
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<dataset id="small"><doc id="a" origlang="en">'
        f"{source}{references}{output}</doc></dataset>\n"
    )


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Register:
    """A function that makes sacrebleu know a set, and keep it in a folder of this test."""
    folder = tmp_path / "sacrebleu"
    for module in ("utils", "dataset.base"):
        monkeypatch.setattr(f"sacrebleu.{module}.SACREBLEU_DIR", str(folder))
    set_files.cache_clear()

    def add(
        web: Web, name: str = "small", pair: str = "en-de", *, xml: str = "", digest: str = ""
    ) -> None:
        inside = {"set.src.sgm": segments(*SOURCES)}
        inside |= {f"set.{n}.sgm": segments(*lines) for n, lines in enumerate(REFERENCES)}
        archive = tar_of({"set.xml": xml.encode()} if xml else inside)
        web.files["set.tgz"] = archive
        kind = WMTXMLDataset if xml else FakeSGMLDataset
        dataset = kind(
            name,
            data=[f"{web.address}/set.tgz"],
            md5=[digest or md5(archive).hexdigest()],
            langpairs={pair: ["set.xml"] if xml else list(inside)},
            refs=["A", "B"],
        )
        monkeypatch.setitem(DATASETS, name, dataset)

    return add
