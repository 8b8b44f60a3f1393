"""Checkpoints of strangers: what is read, and what is refused before it can do anything."""

from __future__ import annotations

import os
import pickle
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.exchange.pickled import check_tensor, read_pickled, tensors_in


class Runs:
    """Would make a file when it is read, as a hostile checkpoint would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def refused(path: Path) -> str:
    with pytest.raises(DataError) as raised:
        tensors_in(read_pickled(path), path)
    said = str(raised.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    return said


@pytest.mark.parametrize("as_archive", [True, False])
def test_options_and_tensors_are_read(as_archive: bool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    written = {"args": Namespace(arch="transformer"), "model": {"a": torch.arange(3.0)}}
    torch.save(written, path, _use_new_zipfile_serialization=as_archive)
    found = read_pickled(path)
    assert found["args"].arch == "transformer"
    assert torch.equal(tensors_in(found["model"], path)["a"], torch.arange(3.0))


@pytest.mark.parametrize("as_archive", [True, False])
def test_nothing_is_run(as_archive: bool, tmp_path: Path) -> None:
    path, trace = tmp_path / "model.bin", tmp_path / "trace"
    torch.save({"a": Runs(trace)}, path, _use_new_zipfile_serialization=as_archive)
    assert "mkdir, which is not data: reading it could run code" in refused(path)
    path.write_bytes(pickle.dumps(Runs(trace)))
    assert "mkdir" in refused(path) or "no checkpoint" in refused(path)
    assert not trace.exists()


def test_an_unknown_class_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    torch.save({"a": Path("x")}, path)
    assert "Path, which is not data" in refused(path)


def test_an_archive_that_is_larger_inside_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb/data.pkl", bytes(10**6))
    assert "larger than the file" in refused(path)


def test_a_tensor_that_claims_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    torch.save({"a": torch.zeros(1).expand(10**9)}, path)
    assert "a has the shape [1000000000], which is more than the file holds" in refused(path)
    sparse = torch.eye(2).to_sparse()
    with pytest.raises(DataError, match="b is no plain tensor"):
        check_tensor("b", sparse, path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "no checkpoint of PyTorch"),
        (b"hello", "no checkpoint of PyTorch"),
        (b"PK\x03\x04", "no checkpoint of PyTorch"),
        (pickle.dumps(3), "no checkpoint of PyTorch"),
        ([1, 2], "holds no weights where they are expected"),
        ({}, "holds no weights where they are expected"),
        ({"a": 3}, "holds 'a' of type int among the weights"),
        ({3: torch.ones(1)}, "holds '3' of type Tensor among the weights"),
    ],
)
def test_what_is_no_checkpoint(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        torch.save(content, path)
    assert message in refused(path)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damage_is_one_error(data: st.DataObject, tmp_path: Path) -> None:
    """Cut or altered anywhere, a checkpoint is read as it is or refused; nothing else happens."""
    path = tmp_path / "model.bin"
    torch.save({"a": torch.arange(5.0), "b": Namespace(c=[1, "d"])}, path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    try:
        read_pickled(path)
    except DataError as error:
        assert str(error).startswith(f"{path}: ")


def test_values_without_end_are_refused_before_they_are_shown(tmp_path: Path) -> None:
    shared: list[object] = ["ha"]
    for _ in range(40):
        shared = [shared] * 10  # written out, 10 ** 40 values in a file of 2 kB
    around: list[object] = []
    around.append(around)
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    for number, value in enumerate((shared, around, deep, Namespace(arch=shared))):
        path = tmp_path / f"{number}.pt"
        torch.save({"args": value}, path)
        with pytest.raises(DataError, match="not a file to be trusted"):
            read_pickled(path)


def test_parts_that_are_shared_may_be_many(tmp_path: Path) -> None:
    shared = [1, 2]
    torch.save({"a": [shared] * 1000, "b": {"c": shared}}, tmp_path / "a.pt")
    assert len(read_pickled(tmp_path / "a.pt")["a"]) == 1000


def test_a_zip_file_of_several_disks_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"a": 1}, path)
    content = path.read_bytes()
    end = content.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + bytes(12) + (2).to_bytes(4, "little")  # APPNOTE.TXT, section 4.3.15
    path.write_bytes(content[:end] + locator + content[end:])
    with pytest.raises(DataError, match="damaged"):
        read_pickled(path)
