"""The lists of importers and exporters: built-in ones, and those that other packages add.

Another package adds one by an entry point of the group ``dragoman.importers`` or
``dragoman.exporters`` (see :mod:`dragoman.core.plugins`), whose name is that on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.core.plugins import Registry

if TYPE_CHECKING:
    from dragoman.exchange.interface import Exporter, Importer

_PLACE = "dragoman.exchange"

IMPORTERS: Registry[Importer] = Registry(
    "dragoman.importers",
    f"{_PLACE}.interface:Importer",
    {
        "huggingface-marian": f"{_PLACE}.huggingface_marian_importer:HuggingfaceMarianImporter",
        "huggingface-m2m100": f"{_PLACE}.huggingface_m2m_importer:HuggingfaceM2MImporter",
        "huggingface-mbart": f"{_PLACE}.huggingface_m2m_importer:HuggingfaceMbartImporter",
        "huggingface-t5": f"{_PLACE}.huggingface_t5_importer:HuggingfaceT5Importer",
        "marian": f"{_PLACE}.marian_importer:MarianImporter",
        "fairseq": f"{_PLACE}.fairseq_importer:FairseqImporter",
        "joeynmt": f"{_PLACE}.joeynmt_importer:JoeynmtImporter",
        "opennmt": f"{_PLACE}.opennmt_importer:OpennmtImporter",
        "sockeye": f"{_PLACE}.sockeye_importer:SockeyeImporter",
        "argos": f"{_PLACE}.argos_importer:ArgosImporter",
    },
    "importer",
    named=True,
)
"""Importers by toolkit; each is imported when it is needed."""

EXPORTERS: Registry[Exporter] = Registry(
    "dragoman.exporters",
    f"{_PLACE}.interface:Exporter",
    {
        "ctranslate2": f"{_PLACE}.ctranslate2_exporter:CTranslate2Exporter",
        "onnx": f"{_PLACE}.onnx_exporter:OnnxExporter",
        "huggingface": f"{_PLACE}.huggingface_exporter:HuggingfaceExporter",
        "marian": f"{_PLACE}.marian_exporter:MarianExporter",
    },
    "exporter",
    named=True,
)
"""Exporters by the program that they write for; each is imported when it is needed."""
