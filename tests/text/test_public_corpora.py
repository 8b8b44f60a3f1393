"""Where public corpora lie, and what a missing one asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.lines import read_lines
from dragoman.text.public_corpora import (
    corpora_folder,
    corpus_of,
    from_folder,
    listed_folder,
    located,
)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"DRAGOMAN_CORPORA": "/c"}, "/c"),
        ({"DRAGOMAN_CORPORA": "../c"}, "/here/c"),
        ({"DRAGOMAN_CORPORA": "~/c"}, "/home/me/c"),
        ({"DRAGOMAN_CORPORA": "/c", "XDG_DATA_HOME": "/data"}, "/c"),
        ({"DRAGOMAN_CORPORA": "", "XDG_DATA_HOME": "/data"}, "/data/dragoman/corpora"),
        ({"XDG_DATA_HOME": "data"}, "/home/me/.local/share/dragoman/corpora"),
        ({}, "/home/me/.local/share/dragoman/corpora"),
    ],
)
def test_one_setting_says_where(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DRAGOMAN_CORPORA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("os.getcwd", lambda: "/here/below")
    assert corpora_folder() == Path(folder)


def test_what_is_beside_a_recipe_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path / "elsewhere"))
    name = "corpora/tiny/train.tsv"
    assert located(name, tmp_path) == tmp_path / "elsewhere/tiny/train.tsv"
    (tmp_path / "corpora/tiny").mkdir(parents=True)
    assert located(name, tmp_path) == tmp_path / "elsewhere/tiny/train.tsv"
    (tmp_path / name).touch()
    assert located(name, tmp_path) == tmp_path / name


@pytest.mark.parametrize(
    "name", ["corpora", "corpora/", "corpora.tsv", "my/corpora/x", "./corpora/x"]
)
def test_other_paths_are_beside_the_recipe(name: str) -> None:
    assert located(name, Path("/recipes")) == Path("/recipes") / name


def test_columns_are_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", "/c")
    values = {"path": "corpora/a.tsv", "source": "corpora/en", "target": "de"}
    assert from_folder(Path("/r")).of(CorpusPart, values) == values | {"path": "/c/a.tsv"}


def test_a_missing_corpus_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path / "c"))
    with pytest.raises(DataError, match="no such file; get it with 'dragoman corpora get tiny'"):
        list(read_lines(tmp_path / "c/tiny/train.en.gz"))
    for other in ("train.en", "c/train.en"):
        with pytest.raises(DataError, match=r"no such file; check the path$"):
            list(read_lines(tmp_path / other))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("multi30k/train.en.gz", "multi30k"),
        ("mtdata/OPUS-qed-1-en-ko/train.en.gz", "mtdata:OPUS-qed-1-en-ko"),
        ("hf/org/name/train.en.gz", "hf:datasets/org/name"),
        ("mtdata/train.en.gz", None),
        ("alone.txt", None),
    ],
)
def test_the_corpus_of_a_file(
    path: str, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path))
    assert corpus_of(tmp_path / path) == name
    assert corpus_of(tmp_path.parent / path) is None
    if name is not None and ":" in name:
        folder = listed_folder(name)
        assert folder is not None and folder == (tmp_path / path).parent
    assert listed_folder("multi30k") is None
