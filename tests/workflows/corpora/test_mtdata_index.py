"""mtdata's own list and readers, in processes of their own, as the reference for ours."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from corpora_web import segments
from listed_corpora import ENGLISH, KOREAN, lines_of, memory
from registered_sets import wmt_xml

from dragoman.core.errors import MissingExtraError, SavedError
from dragoman.workflows.corpora import mtdata_index
from dragoman.workflows.corpora.lenient_reading import READERS, Flaws

needs_mtdata = pytest.mark.skipif(
    importlib.util.find_spec("mtdata") is None, reason="mtdata is not installed"
)

FAKE = """
from mtdata import resource_dir

class Tag(str):
    pass

class Id:
    def __init__(self, text, langs):
        self.text, self.langs = text, langs
    def __str__(self):
        return self.text

class Entry:
    def __init__(self, text, langs, url, **facts):
        self.did, self.url = Id(text, langs), url
        self.ext, self.in_ext, self.is_archive = "zip", "txt", True
        self.in_paths, self.cols, self.cite, self.meta = ["*.en", "*.ko"], None, ("a",), None
        vars(self).update(facts)

class Person:
    last_names = ["M{\\\\\\"u}ller"]

class Reference:
    key, persons = "a", {"author": [Person()] * 4}
    fields = {"title": "A {Title}", "year": "2020"}
    def to_string(self, _):
        return "@misc{a}"

class Index:
    ref_db = {"a": Reference()}
    def get_entries(self):
        return [
            Entry("OPUS-x-v1-eng-kor", ("eng", "kor"), "http://x/OPUS-X/en-ko.zip"),
            Entry("ELRC-y-1-eng-kor", ("eng", "kor"), "http://e/download"),
            Entry("Mono-z-1-eng", ("eng",), "http://z"),
            Entry("Hub-w-1-eng-kor", ("eng", "kor"), ("http://a", "http://b"), is_archive=False,
                  meta={"orig_id": "o/w", "config": "en-ko"}, cols=(1, 2)),
        ]

print("what it says")
INDEX = Index()
"""


@pytest.fixture
def fake(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of mtdata's name, with an index of four corpora."""
    package = tmp_path / "packages" / "mtdata"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from pathlib import Path\nresource_dir = Path(__file__).parent\n"
    )
    (package / "index.py").write_text(FAKE)
    row = ["en", "ko", "1", "y", "Y", "http://e/page", "http://e/download", "CC-BY-4.0", "a.tmx"]
    (package / "elrc_share.tsv").write_text("\t".join(row) + "\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(mtdata_index, "_version", lambda: "7")
    return package


def test_the_index_is_written_by_a_child_once(fake: Path, folder: Path) -> None:
    entry = mtdata_index.find("mtdata:OPUS-x-v1-en-ko")
    assert entry.facts["urls"] == ["http://x/OPUS-X/en-ko.zip"]
    assert entry.facts["members"] == ["*.en", "*.ko"]
    (cited,) = entry.references
    assert cited["bibtex"] == "@misc{a}"
    assert cited["line"].endswith("et al.: A Title (2020)")
    assert entry.home == "https://opus.nlpl.eu/X"
    elrc = mtdata_index.find("mtdata:ELRC-y-1-eng-kor")
    assert (elrc.facts["licence"], elrc.home) == ("CC-BY-4.0", "http://e/page")
    hub = mtdata_index.find("mtdata:Hub-w-1-eng-kor").facts
    assert (hub["hub"], hub["subset"], hub["members"], hub["columns"]) == (
        "o/w",
        "en-ko",
        [],
        [1, 2],
    )
    assert [entry.name for entry in mtdata_index.search("en", "ko")] == [
        "OPUS-x-v1-eng-kor",
        "ELRC-y-1-eng-kor",
        "Hub-w-1-eng-kor",
    ]
    (fake / "index.py").write_text("raise SystemError('read twice')")
    assert len(mtdata_index.search("en", "ko")) == 3
    assert os.listdir(folder) == [".mtdata-7.tsv.gz"]


def test_files_of_the_working_directory_are_not_carried_out(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mtdata imports all ``mtdata*.py`` there."""
    (fake / "index.py").write_text(
        f"{FAKE}\nfrom pathlib import Path\nassert not list(Path('.').iterdir())\n"
    )
    (tmp_path / "mtdata_mine.py").write_text("raise SystemError")
    monkeypatch.chdir(tmp_path)
    assert mtdata_index.search("en", "ko")


def test_what_fails_is_told(fake: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "index.py").write_text("raise SystemError('it is broken')")
    with pytest.raises(SavedError, match=r"SystemError: it is broken.*install it again"):
        mtdata_index.search("en", "ko")
    assert os.listdir(folder) == []
    (folder / ".mtdata-7.tsv.gz").write_bytes(gzip.compress(b"a-b-c-eng-kor\t{}\n")[:-4])
    with pytest.raises(SavedError, match=r"mtdata-7\.tsv\.gz: damaged"):
        mtdata_index.search("en", "ko")
    monkeypatch.undo()

    def missing(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(mtdata_index, "version", missing)
    with pytest.raises(MissingExtraError, match="mtdata is not installed"):
        mtdata_index.find("mtdata:OPUS-x-v1-en-ko")


READ = """
import json, sys
from pathlib import Path
from mtdata.entry import DatasetId, Entry
from mtdata.parser import Parser

name, kind, *files = sys.argv[1:]
entry = Entry(name, "http://x/a." + kind, ext=kind, cols=(1, 2) if kind == "tsv" else None)
for pair in Parser([Path(file) for file in files], ext=kind, ent=entry).read_segs(show_pbar=False):
    print(json.dumps([str(text) for text in pair[:2]]))
"""


@needs_mtdata
@pytest.mark.parametrize("kind", ["txt", "tsv", "tmx", "sgm", "wmt21xml"])
def test_files_are_read_as_mtdata_reads_them(kind: str, tmp_path: Path) -> None:
    table = "".join(f"1\t{a}\t{b}\tx\n" for a, b in zip(ENGLISH, KOREAN, strict=True))
    name, contents = {
        "txt": ("a-b-1-eng-kor", [lines_of(ENGLISH), lines_of(KOREAN)]),
        "tsv": ("a-b-1-eng-kor", [table.encode()]),
        "tmx": ("a-b-1-eng-kor", [memory(ENGLISH, KOREAN, ("en", "ko"))]),
        "sgm": ("a-b-1-eng-kor", [segments(*ENGLISH), segments(*KOREAN)]),
        "wmt21xml": ("a-b-1-eng-deu", [wmt_xml("A").encode()]),
    }[kind]
    files = []
    for number, content in enumerate(contents):
        files.append(tmp_path / f"{number}.{kind}")
        files[-1].write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", READ, name, kind, *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"MTDATA": str(tmp_path)},
    )
    theirs = [tuple(json.loads(line)) for line in done.stdout.splitlines() if line[:1] == "["]
    flaws = Flaws()
    ours = list(READERS[kind](files, ("en", "ko"), (1, 2), flaws))
    assert len(theirs) > 3
    assert ours == theirs
    assert not flaws


@needs_mtdata
@pytest.mark.exhaustive
def test_the_real_index(folder: Path) -> None:
    """Which takes half a minute to build."""
    found = {entry.name: entry for entry in mtdata_index.search("en", "ko")}
    wiki = found["OPUS-wikimedia-v20230407-eng-kor"]
    assert wiki.facts["urls"] == [
        "https://object.pouta.csc.fi/OPUS-wikimedia/v20230407/moses/en-ko.txt.zip"
    ]
    assert wiki.references[0]["bibtex"].startswith("@inproceedings{tiedemann2012parallel")
    assert found["ELRC-wikipedia_health-1-eng-kor"].facts["licence"] == "CC-BY-SA-3.0"
    assert len(found) > 70
    names = [entry.name for entry in mtdata_index._entries(lambda _: True)]
    assert len(names) > 250_000


def test_a_member_is_unpacked_whatever_its_path(tmp_path: Path) -> None:
    from dragoman.workflows.corpora.unpacking import unpack

    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("../../x.en", "a\n")
        packed.writestr("/LICENSE", "free\n")
    folder = tmp_path / "in" / "ner"
    folder.mkdir(parents=True)
    (path,) = unpack(archive, ["*.en"], folder)
    assert path.parent == folder
    assert sorted(one.name for one in folder.iterdir()) == ["0-x.en.zst", "LICENSE"]
    assert not (tmp_path / "x.en").exists()
