"""Models of other toolkits under ``tests/exchange/models``, and what those toolkits say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import dragoman
from dragoman.exchange.importing import import_model, importer_from
from dragoman.exchange.interface import ForeignModel
from dragoman.models.interface import TranslationModel
from dragoman.saved.model import build_model
from dragoman.saved.weights import load_weights
from dragoman.text.vocabularies import BOS, EOS

MODELS = Path(__file__).parent / "exchange" / "models"


def expected(folder: Path) -> dict[str, Any]:
    """``expected.json``: sources and greedy outputs, pairs and logits of every target position."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return found


def built(found: ForeignModel) -> TranslationModel:
    """The model, ready for use."""
    model = build_model(found.config.model, found.vocabularies)
    load_weights(model, found.weights, Path("imported"))
    return model.eval()


def logits(model: TranslationModel, source: list[int], target: list[int]) -> Tensor:
    """Of every position of a target, ``(target + 1, pieces)``, step by step."""
    with torch.inference_mode():
        ids = torch.tensor([[*source, EOS]])
        memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        state = model.start(memory)
        rows = []
        for piece in [BOS, *target]:
            hidden, state = model.decode(torch.tensor([[piece]]), memory, state)
            rows.append(model.logits(hidden)[0, 0])
    return torch.stack(rows)


def largest_difference(toolkit: str, folder: Path, path: Path | None = None) -> float:
    """Of all logits from those of the toolkit, each piece compared with itself."""
    found = importer_from(toolkit).read(path or folder, (None, None))
    told = expected(folder)
    model, vocabularies = built(found), found.vocabularies
    theirs = {piece: number for number, piece in enumerate(told["target_pieces"])}
    names = vocabularies.target.pieces(range(len(vocabularies.target)))
    names[0] = told["pad"]
    columns = torch.tensor([theirs[name] for name in names])
    assert len(set(columns.tolist())) == len(theirs)
    gaps = []
    for (source, target), scores in zip(told["pairs"], told["logits"], strict=True):
        ids = vocabularies.source.ids(source), vocabularies.target.ids(target)
        gaps.append((logits(model, *ids) - torch.tensor(scores)[:, columns]).abs().max())
    return float(max(gaps))


def greedy(toolkit: str, path: Path, output: Path, sources: list[str]) -> list[str]:
    """Translations by the model as it is imported and opened again, up to 24 pieces long."""
    import_model(path, output, toolkit=toolkit, languages=("en", "de"))
    with dragoman.load(output) as translator:
        return translator.translate(sources, beam=1, maximum_length=24, degenerate="keep")
