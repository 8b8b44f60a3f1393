"""The programs that models are exported to; what one of them needs is imported for it alone."""

from __future__ import annotations

from importlib import import_module

from dragoman.core.errors import ConfigError
from dragoman.exchange.exporter import Exporter

EXPORTERS = {
    "ctranslate2": ("ctranslate2_exporter", "CTranslate2Exporter"),
    "onnx": ("onnx_exporter", "OnnxExporter"),
    "huggingface": ("huggingface_exporter", "HuggingfaceExporter"),
    "marian": ("marian_exporter", "MarianExporter"),
}
"""Module of :mod:`dragoman.exchange` and class, by the name in the command line."""

QUANTISED = ("ctranslate2",)
"""Those whose weights can be written in fewer bits."""


def exporter_to(target: str, quantisation: str | None = None) -> Exporter:
    """The exporter to another program.

    Args:
        target: one of :data:`EXPORTERS`.
        quantisation: type of the weights, such as ``int8``; float32 by default.

    Raises:
        ConfigError: there is none of that name, or it does not quantise.
        MissingExtraError: a package that it needs is not installed.
    """
    if target not in EXPORTERS:
        raise ConfigError(f"no export to {target}; choose one of: {', '.join(EXPORTERS)}")
    if quantisation is not None and target not in QUANTISED:
        raise ConfigError(
            f"an export to {target} is in float32; leave out --quantisation, or export to: "
            + ", ".join(QUANTISED)
        )
    module, name = EXPORTERS[target]
    kind = getattr(import_module(f"dragoman.exchange.{module}"), name)
    exporter: Exporter = kind() if quantisation is None else kind(quantisation)
    return exporter
