"""Names of models that cannot be imported, for errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.exchange.foreign_files import read_object

_CONFIG = "config.json"
_FAMILIES = {
    "m2m_100": "M2M100 or NLLB",
    "nllb-moe": "NLLB with experts",
    "mbart": "mBART",
    "bart": "BART",
    "t5": "T5",
    "mt5": "mT5",
    "umt5": "umT5",
    "fsmt": "FSMT, fairseq's models of WMT19 in Transformers",
    "pegasus": "PEGASUS",
    "prophetnet": "ProphetNet",
    "seamless_m4t": "SeamlessM4T",
    "seamless_m4t_v2": "SeamlessM4T 2",
    "encoder-decoder": "an encoder and a decoder joined",
    "whisper": "Whisper, which recognises speech",
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "gpt2": "GPT-2",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen 2",
    "qwen3": "Qwen 3",
    "gemma": "Gemma",
    "gemma2": "Gemma 2",
    "gemma3": "Gemma 3",
}
"""By ``model_type`` of Transformers.  Other types are named as they are written."""
_SUFFIXES = {
    ".gguf": "a model of llama.cpp (GGUF)",
    ".onnx": "a graph of ONNX",
    ".tflite": "a graph of TensorFlow Lite",
    ".h5": "weights of Keras",
    ".nemo": "an archive of NeMo",
    ".msgpack": "weights of Flax",
}


def architecture(path: Path) -> str | None:
    """The name of a model, by its configuration or its files; None if unknown."""
    if path.is_file():
        return _SUFFIXES.get(path.suffix.lower())
    try:
        config = read_object(path / _CONFIG) if (path / _CONFIG).is_file() else {}
    except DataError:
        config = {}
    if name := _of_transformers(config):
        return name
    suffixes = sorted({file.suffix.lower() for file in path.iterdir()} & _SUFFIXES.keys())
    return _SUFFIXES[suffixes[0]] if suffixes else None


def _of_transformers(config: Mapping[str, Any]) -> str | None:
    """Its family and class, such as ``M2M100 or NLLB (M2M100ForConditionalGeneration ...)``."""
    kind, classes = config.get("model_type"), config.get("architectures")
    named = classes[0] if isinstance(classes, list) and classes else None
    if not isinstance(kind, str) or not kind:
        return None
    family = _FAMILIES.get(kind, f"a model of type {json.dumps(kind[:60])}")
    shown = f"{named:.80} of " if isinstance(named, str) else ""
    return f"{family} ({shown}Hugging Face Transformers)"
