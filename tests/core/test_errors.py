"""Commands in messages, and memory that runs out, in the words of different libraries."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import torch

from dragoman.core.errors import MissingExtraError, install_command, is_out_of_memory, memory_words

ROOT = Path(__file__).parents[2]


def test_a_hint_is_a_command_for_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/my venv/bin/python")
    command = install_command("sacrebleu[ko]", "jinja2")
    expected = ["/my venv/bin/python", "-m", "pip", "install", "sacrebleu[ko]", "jinja2"]
    assert shlex.split(command) == expected
    assert str(MissingExtraError.of("Jinja2", "jinja2")) == (
        "Jinja2 is not installed; add it with: '/my venv/bin/python' -m pip install jinja2"
    )


def test_hints_name_packages_of_an_extra_and_never_the_extra() -> None:
    """Which pip would look for in an index that may not have Dragoman."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project.partition("[project.optional-dependencies]")[2]
    named = set()
    for source in (ROOT / "src").rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert "dragoman[" not in text, source
        assert "pip install" not in text, source
        for call in re.findall(r"MissingExtraError\.of\(([^)]*)\)", text):
            named.update(re.findall(r'"([^"]*)"', call)[1:])
    reports, engines = {"matplotlib", "jinja2"}, {"ctranslate2"}
    trackers = {"tensorboard", "wandb", "mlflow-skinny"}
    servers = {"alembic", "httpx", "psycopg[binary]", "sentencex", "sqlalchemy"}
    documents = {"babel", "fluent.syntax", "markdown-it-py"}
    exchange = {"onnx", "onnxruntime", "protobuf", "sacremoses", "transformers>=5"}
    others = {"huggingface-hub", "mtdata", "pyarrow", "rapidfuzz"}
    assert named == reports | trackers | engines | servers | documents | exchange | others
    assert all(f'"{package.partition(">=")[0]}>=' in extras for package in named)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RuntimeError("std::bad_alloc"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
    ],
)
def test_whoever_says_it_is_understood(error: Exception) -> None:
    assert is_out_of_memory(error)
    assert memory_words(error)


def test_what_pytorch_itself_raises_is_understood_and_told_shortly() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60, dtype=torch.int8)
    assert is_out_of_memory(raised.value)
    assert memory_words(raised.value).startswith("DefaultCPUAllocator: can't allocate memory")


def test_other_errors_are_not() -> None:
    assert not is_out_of_memory(RuntimeError("The size of tensor a (3) must match"))
