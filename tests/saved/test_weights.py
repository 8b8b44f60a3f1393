"""Tensors come back as they were, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors
import torch

from dragoman.core.errors import SavedError
from dragoman.saved.weights import read_metadata, read_tensors, write_tensors


def test_any_altered_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(4.0), "b": torch.ones(2, 3, dtype=torch.bfloat16)})
    content = path.read_bytes()
    for position in range(len(content)):
        harmed = bytearray(content)
        harmed[position] ^= 0x40
        path.write_bytes(harmed)
        with pytest.raises(SavedError, match=r"x\.safetensors: "):
            read_tensors(path)


def test_equal_tensors_are_equal_files_whatever_their_metadata(tmp_path: Path) -> None:
    tensors = {"é": torch.arange(5.0), "b": torch.ones(3, dtype=torch.bfloat16)}
    metadata = {name: f'"{name}"' for name in "adcbefé"}
    contents = set()
    for _ in range(4):
        write_tensors(tmp_path / "x.safetensors", tensors, metadata)
        contents.add((tmp_path / "x.safetensors").read_bytes())
    assert len(contents) == 1
    with safetensors.safe_open(tmp_path / "x.safetensors", framework="pt") as stream:
        assert stream.metadata().items() >= metadata.items()
        assert torch.equal(stream.get_tensor("é"), tensors["é"])
        assert torch.equal(stream.get_tensor("b"), tensors["b"])


def test_every_truncation_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(4.0)})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(SavedError, match="truncated or damaged"):
            read_tensors(path)


def test_a_damaged_header_is_not_repeated_without_end(tmp_path: Path) -> None:
    header = b'"' + b"\\u0000" * 10_000 + b'"'
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(SavedError, match="truncated or damaged") as caught:
        read_tensors(tmp_path / "a.safetensors")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("read", [read_tensors, read_metadata])
def test_a_path_that_is_not_unicode_is_told_from_damage(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    write_tensors(folder / "x.safetensors", {"a": torch.arange(4.0)}, {"kind": "example"})
    with pytest.raises(SavedError, match="not in UTF-8, which safetensors needs; rename it"):
        read(folder / "x.safetensors")
    monkeypatch.chdir(folder)
    assert read(Path("x.safetensors"))
