"""Tensors come back as they were, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from torch import nn

from dragoman.core.errors import SavedError
from dragoman.saved.weights import Undrawn, read_metadata, read_tensors, write_tensors


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


def test_what_was_read_does_not_change_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(9.0), "e": torch.empty(0, 2), "s": torch.tensor(3.0)})
    found = read_tensors(path)
    with path.open("r+b") as stream:
        stream.seek(-8, 2)
        stream.write(b"\xff" * 8)
    assert torch.equal(found["a"], torch.arange(9.0))
    assert (found["e"].shape, found["s"].item()) == ((0, 2), 3.0)


def test_files_are_those_of_safetensors_itself(tmp_path: Path) -> None:
    tensors = {
        "b": torch.arange(6.0).view(2, 3).t(),  # not contiguous
        "a": torch.ones(3, dtype=torch.float16),
        "number": torch.arange(3),
        "flag": torch.tensor([True, False]),
        "empty": torch.empty(0, 2),
    }
    write_tensors(tmp_path / "x.safetensors", tensors)
    found = safetensors.torch.load_file(tmp_path / "x.safetensors")
    assert {name: one.shape for name, one in found.items()} == {
        name: one.shape for name, one in tensors.items()
    }
    assert all(torch.equal(found[name], one) for name, one in tensors.items())
    contiguous = {name: one.contiguous() for name, one in tensors.items()}
    content = safetensors.torch.save(contiguous)
    length = 8 + int.from_bytes(content[:8], "little")
    assert (tmp_path / "x.safetensors").read_bytes().endswith(content[length:])


def test_weights_that_a_file_replaces_are_not_drawn() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    with Undrawn():
        nn.Sequential(nn.Linear(4, 3), nn.Embedding(5, 3))
        norm = nn.LayerNorm(3)
        nn.init.normal_(torch.empty(4))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(norm.weight, torch.ones(3))  # others are as ever
    nn.init.normal_(torch.empty(4))
    assert not torch.equal(torch.get_rng_state(), state)
