"""Models for Hugging Face transformers, of the class there that computes the same."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from typing_extensions import override

from dragoman.exchange.interface import Exporter, ExportReport
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedModel

_KINDS = {
    "marian": ("huggingface_marian_exporter", "HuggingfaceMarianExporter"),
    "m2m100": ("huggingface_m2m_exporter", "HuggingfaceM2MExporter"),
    "mbart": ("huggingface_m2m_exporter", "HuggingfaceMbartExporter"),
}
"""Module of :mod:`dragoman.exchange` and class, by the kind of model."""


class HuggingfaceExporter(Exporter):
    """Chooses the class of models by the values of a configuration."""

    name = "huggingface"

    @override
    def check(self, saved: SavedModel) -> None:
        _exporter(saved).check(saved)

    @override
    def written_tags(self, saved: SavedModel) -> dict[str, str]:
        return _exporter(saved).written_tags(saved)

    @override
    def reads_tags(self, saved: SavedModel) -> bool:
        return _exporter(saved).reads_tags(saved)

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        return _exporter(saved).write(saved, directory)

    @override
    def guide(self, saved: SavedModel) -> str:
        return _exporter(saved).guide(saved)


def _exporter(saved: SavedModel) -> Exporter:
    """The exporter of the kind that a model is; MarianMTModel for what fits no other."""
    kind, config = "marian", saved.config.model
    if isinstance(config, TransformerConfig) and config.tags.language_tags == "decoder_second":
        kind = "mbart" if config.positional_encoding.positions == "learned" else "m2m100"
    module, name = _KINDS[kind]
    exporter: Exporter = getattr(import_module(f"dragoman.exchange.{module}"), name)()
    return exporter
