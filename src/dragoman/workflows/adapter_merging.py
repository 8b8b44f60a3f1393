"""A separate model from a model and its adapter."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from dragoman.core.errors import SavedError
from dragoman.core.new_outputs import new_output
from dragoman.run.run_directory import claim, is_run
from dragoman.saved.adapter import read_adapter
from dragoman.saved.language_pieces import pieces_beside
from dragoman.saved.model import load_model, model_directory, read_card, save_model
from dragoman.saved.weights import weights_of


def merge_adapter(model: Path, adapter: Path, output: Path) -> None:
    """Write a model whose weights are those of another with an adapter.

    Args:
        model: a model, run or checkpoint.
        adapter: a file, or the run that it was trained in.
        output: a directory that does not exist.
    """
    with new_output(output, "name a directory that does not"):
        _merge(model, adapter, output)


def _merge(model: Path, adapter: Path, output: Path) -> None:
    found = read_adapter(adapter)
    saved = load_model(model, "cpu", found)
    origin = f"It is the model with the weights {found.of} and an adapter."
    cards = [_card(model), _card(found.path.parent)]
    earlier = [card for card in cards if card is not None]
    runs = [parent for parent in output.absolute().parents if is_run(parent)]
    with claim(runs[0]) if runs else nullcontext():
        weights = weights_of(saved.model)
        save_model(
            output,
            saved.config,
            saved.vocabularies,
            weights,
            origin=origin,
            earlier=earlier,
            kept=pieces_beside(saved.path),
        )


def _card(path: Path) -> str | None:
    """The card of a model or run; None without a card, as beside a copied adapter."""
    try:
        return read_card(model_directory(path))
    except SavedError:
        return None
