"""The file of a shortlist: written whole, read strictly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.shortlist import (
    Shortlist,
    ShortlistOrigin,
    read_shortlist,
    shortlist_path,
    write_shortlist,
)
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import write_tensors
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.vocabularies.piece_links import PieceTable


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Vocabularies:
    return Vocabularies.load(save_tiny_model(tmp_path_factory.mktemp("model") / "model"))


@pytest.fixture(scope="module")
def shortlist(vocabularies: Vocabularies) -> Shortlist:
    size = len(vocabularies.source)
    starts = np.array([0] * 5 + [2] * (size - 5) + [3])
    origin = ShortlistOrigin(
        fingerprints=vocabularies.fingerprints, likeliest=2, frequent=1, text="my.tsv", pairs=7
    )
    return Shortlist(PieceTable(starts, np.array([7, 5, 6])), np.array([0, 1, 2, 3, 4]), origin)


def test_it_is_read_as_it_was_written(
    shortlist: Shortlist, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    path = tmp_path / "shortlist.safetensors"
    write_shortlist(path, shortlist)
    found = read_shortlist(path, vocabularies)
    assert found.origin == shortlist.origin
    for one, other in (
        (found.table.starts, shortlist.table.starts),
        (found.table.pieces, shortlist.table.pieces),
        (found.always, shortlist.always),
    ):
        np.testing.assert_array_equal(one, other)


def test_what_each_sentence_may_have(shortlist: Shortlist, vocabularies: Vocabularies) -> None:
    size, last = len(vocabularies.target), len(vocabularies.source) - 1
    found = shortlist.allowed([[4, 4, last], [5], []], size, [[], [8], []])
    assert found.shape == (3, size)
    assert [np.flatnonzero(row).tolist() for row in found] == [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 1, 2, 3, 4, 8],
        [0, 1, 2, 3, 4],
    ]


def test_a_missing_one_names_the_command(vocabularies: Vocabularies, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="build one with 'dragoman shortlist RUN'"):
        read_shortlist(tmp_path / "shortlist.safetensors", vocabularies)


def test_other_vocabularies_are_refused(
    shortlist: Shortlist, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    other = shortlist.origin.model_copy(update={"fingerprints": ("a", "b")})
    write_shortlist(tmp_path / "s", replace(shortlist, origin=other))
    with pytest.raises(SavedError, match="for other vocabularies than those of the model; build"):
        read_shortlist(tmp_path / "s", vocabularies)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pieces", [7, 5, 99]),
        ("pieces", [7, -1, 6]),
        ("pieces", [7, 5]),
        ("always", [0, 1, 2]),
        ("always", [3, 99]),
        ("starts", [0, 3]),
        ("more", [1]),
    ],
)
def test_impossible_pieces_are_refused(
    name: str,
    values: list[int],
    shortlist: Shortlist,
    vocabularies: Vocabularies,
    tmp_path: Path,
) -> None:
    tensors = {
        "starts": torch.from_numpy(shortlist.table.starts),
        "pieces": torch.from_numpy(shortlist.table.pieces),
        "always": torch.from_numpy(shortlist.always),
    }
    write = {"shortlist": shortlist.origin.model_dump_json()}
    path = tmp_path / "shortlist.safetensors"
    write_tensors(path, tensors, write)
    read_shortlist(path, vocabularies)
    for kind in (torch.int64, torch.bfloat16):
        write_tensors(path, {**tensors, name: torch.tensor(values, dtype=kind)}, write)
        with pytest.raises(SavedError, match=r"damaged .*build it again with 'dragoman shortlist'"):
            read_shortlist(path, vocabularies)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [({}, "these are tensors, but no shortlist"), ({"shortlist": "{"}, "is unreadable")],
)
def test_tensors_alone_are_no_shortlist(
    metadata: dict[str, str], message: str, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    write_tensors(tmp_path / "s", {"starts": torch.zeros(1)}, metadata)
    with pytest.raises(SavedError, match=message):
        read_shortlist(tmp_path / "s", vocabularies)


def test_an_altered_file_is_refused(
    shortlist: Shortlist, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    write_shortlist(path, shortlist)
    whole = path.read_bytes()
    for damaged in (whole[:-3], whole[:-1] + b"\x01", b"no tensors"):
        path.write_bytes(damaged)
        with pytest.raises(SavedError, match=r"truncated or damaged|altered"):
            read_shortlist(path, vocabularies)


def test_it_lies_beside_the_first_model(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    system = TranslationSystem(models=(model,), shortlist=True)
    assert shortlist_path(system) == model / "shortlist.safetensors"
    assert shortlist_path(system.model_copy(update={"shortlist": tmp_path / "s"})) == (
        tmp_path / "s"
    )
