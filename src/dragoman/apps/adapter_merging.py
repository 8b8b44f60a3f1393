"""A model of its own from a model and its adapter."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.run_directory import claim, is_run
from dragoman.saved.adapter import read_adapter
from dragoman.saved.model import load_model, save_model, weights_of


def merge_adapter(model: Path, adapter: Path, output: Path) -> None:
    """Write a model whose weights are those of another with an adapter.

    Args:
        model: a model, run or checkpoint.
        adapter: a file, or the run that it was trained in.
        output: a directory that does not exist.

    Raises:
        ConfigError: ``output`` exists.
        SavedError: the model or the adapter is missing or damaged, or they do not belong together;
            or another process is using the run that contains ``output``.
        StorageError: the disk refuses.
    """
    if os.path.lexists(output):
        raise ConfigError(f"{output}: exists already; name a directory that does not")
    found = read_adapter(adapter)
    saved = load_model(model, "cpu", found)
    origin = f"It is the model with the weights {found.of} and an adapter."
    runs = [parent for parent in output.absolute().parents if is_run(parent)]
    with claim(runs[0]) if runs else nullcontext():
        save_model(output, saved.config, saved.vocabularies, weights_of(saved.model), origin=origin)
