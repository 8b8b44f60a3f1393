"""A server on the loopback address, and corpora that come from it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml
from corpora_web import ENGLISH, GERMAN, Web, segments, sha256, tar_of, text_facts

from dragoman.text.corpora import corpus_manifest as manifest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of public corpora."""
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path / "corpora"))
    return tmp_path / "corpora"


@pytest.fixture
def corpora(web: Web, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two corpora: ``tiny``, of single files packed and not, and ``joined``, of an archive."""
    archive = tar_of(
        {
            "../../outside": b"x\n",
            "part-1.en": b"a\nb\n",
            "part-1.de": b"A\nB\n",
            "part-2.en.gz": gzip.compress(b"c\nd"),
            "part-2.de.gz": gzip.compress(b"C\nD\n"),
            "test.en.sgm": segments("It&apos;s  &lt;b&gt;", "two"),
            "test.de.sgm": segments("Es ist", "zwei"),
        }
    )
    web.files |= {"raw/train.en.gz": gzip.compress(ENGLISH), "train.de": GERMAN, "x.tgz": archive}
    common = {"languages": ["en", "de"], "licence": "free", "home": "https://example.org"}
    both = ("en", "de")
    values = {
        "tiny": {
            **common,
            "about": "numbers",
            "terms": "Numbers are free.",
            "address": web.address,
            "files": [
                {"path": "train.en.gz", "url": "raw/train.en.gz", **text_facts(ENGLISH)},
                {"path": "tok/train.de.gz", "url": "train.de", **text_facts(GERMAN)},
            ],
        },
        "joined": {
            **common,
            "about": "letters",
            "terms": "Letters are free.",
            "address": web.address,
            "archives": [{"url": "x.tgz", "bytes": len(archive), "sha256": sha256(archive)}],
            "files": [
                *(
                    {
                        "path": f"train.{side}.gz",
                        "parts": [
                            {"archive": "x.tgz", "member": f"part-1.{side}"},
                            {"archive": "x.tgz", "member": f"part-2.{side}.gz"},
                        ],
                    }
                    for side in both
                ),
                *(
                    {
                        "path": f"test.{side}.gz",
                        "parts": [{"archive": "x.tgz", "member": f"test.{side}.sgm"}],
                    }
                    for side in both
                ),
            ],
        },
    }

    def write() -> None:
        path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
        manifest.corpora.cache_clear()

    path = tmp_path / "manifest.yaml"
    monkeypatch.setattr(manifest, "_MANIFEST", path)
    write()
    yield values, write
    manifest.corpora.cache_clear()
