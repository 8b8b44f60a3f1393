"""Models for CTranslate2, and for Argos Translate and LibreTranslate, which run it.

The directory has the layout of a package of Argos Translate: ``model/`` for CTranslate2,
``sentencepiece.model`` for the source and ``metadata.json``.  The converter is that of the engine,
:mod:`dragoman.translation.engines.ctranslate2_conversion`.
"""

from __future__ import annotations

import json
import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.interface import SYSTEM_KNOWN, Exporter, ExportReport
from dragoman.exchange.probes import Probe, check_gap, largest, probes
from dragoman.exchange.vocabulary_files import (
    NOT_NORMALISED,
    lowers_case,
    never_written,
    write_vocabularies,
)
from dragoman.models.families.transformer import Transformer
from dragoman.saved.directions import language_pairs, tags_between
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.translation.engines.ctranslate2_conversion import (
    KNOWN,
    check_widths,
    positions_of,
    specification,
)

try:
    import ctranslate2
except ImportError as error:
    raise MissingExtraError.of("CTranslate2", "ctranslate2") from error

QUANTISATIONS = (
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
    "float16",
    "bfloat16",
)
_KNOWN: Known = {**SYSTEM_KNOWN, **KNOWN}
_TOLERANCE = 1e-3
"""Largest difference of a log-probability in float32, due to another order of summation."""
_COMPARED = 64  # pieces of translations, at most
_DEFAULT_LIMIT = 256  # pieces of outputs, by default of CTranslate2
_REMEDY = "export to onnx, or leave the model with Dragoman"


class CTranslate2Exporter(Exporter):
    """Writes ``model/``, the vocabularies, and ``metadata.json`` for Argos Translate.

    Args:
        quantisation: type of the weights, one of :data:`QUANTISATIONS`; float32 if not given.
    """

    name = "ctranslate2"

    def __init__(self, quantisation: str | None = None) -> None:
        if quantisation is not None and quantisation not in QUANTISATIONS:
            raise ConfigError(
                f"CTranslate2 has no weights in {quantisation}; choose one of: "
                + ", ".join(QUANTISATIONS)
            )
        self._quantisation = quantisation

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, _KNOWN, "CTranslate2", _REMEDY)
        check_widths(saved.config.model, "CTranslate2", _REMEDY)

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        drawn = probes(saved)
        whole = directory / "model"
        self._convert(saved, whole, None)
        gap, texts = _compare(whole, saved, drawn)
        check_gap("CTranslate2 gives", gap, _TOLERANCE)
        equal = None
        if self._quantisation is not None:
            for file in whole.iterdir():
                file.unlink()
            self._convert(saved, whole, self._quantisation)
            gap, quantised = _compare(whole, saved, drawn)
            check_gap("CTranslate2 gives", gap, math.inf)
            equal = (sum(map(operator.eq, texts, quantised)), len(texts))
        notes = write_vocabularies(saved, directory, _spm_names(saved), with_ids=False)
        _write_metadata(saved, directory)
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, through "
            f"CTranslate2 {ctranslate2.__version__} in {self._quantisation or 'float32'}"
            + (", and its translations compared with those of float32" if equal else ""),
            difference=gap,
            equal_texts=equal,
            differences=(*_differences(saved), *notes),
        )

    @override
    def guide(self, saved: SavedModel) -> str:
        source, target = _spm_names(saved)
        limit, longest = "", _longest(saved)
        if longest is not None and longest < _DEFAULT_LIMIT:
            limit = f", max_decoding_length={longest}"
        text = f"""With CTranslate2 and sentencepiece:

```python
import ctranslate2, sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="DIR/{source}")
target = sentencepiece.SentencePieceProcessor(model_file="DIR/{target}")
translator = ctranslate2.Translator("DIR/model")
pieces = source.encode("...", out_type=str)
result = translator.translate_batch(
    [pieces], beam_size=4{limit}, suppress_sequences={_suppressed(saved)}
)
print(target.decode(result[0].hypotheses[0]))
```"""
        if _argos_languages(saved) is None:
            return (
                text + "\n\nArgos Translate needs one direction between two named languages, "
                "sentencepiece, no tags and no lower case, so there is no `metadata.json` for it."
            )
        return text + (
            "\n\nArgos Translate and LibreTranslate read this directory as a package: copy it into "
            "their folder of packages (`~/.local/share/argos-translate/packages`), or pack it: "
            "`zip -r model.argosmodel DIR`."
        )

    def _convert(self, saved: SavedModel, directory: Path, quantisation: str | None) -> None:
        assert isinstance(saved.model, Transformer), "see check"
        spec = specification(saved.model, saved.vocabularies)
        # A source is its pieces alone: its end symbol, if it has one, is added there.
        spec.config.add_source_eos = saved.model.config.source_end
        spec.validate()
        spec.optimize(quantization=quantisation)
        directory.mkdir(exist_ok=True)
        spec.save(str(directory))


def _write_metadata(saved: SavedModel, directory: Path) -> None:
    """Write ``metadata.json`` of Argos Translate, if it can use the model."""
    if (languages := _argos_languages(saved)) is None:
        return
    source, target = languages
    metadata = {"package_version": "1.0", "argos_version": "1.9"}
    metadata |= {"from_code": source, "from_name": source, "to_code": target, "to_name": target}
    text = json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"
    (directory / "metadata.json").write_text(text, encoding="utf-8")


def _spm_names(saved: SavedModel) -> tuple[str, str]:
    """Argos Translate splits sources with the first, and joins the pieces of outputs itself."""
    shared = "sentencepiece.model"
    return shared, shared if saved.vocabularies.joint else "sentencepiece.target.model"


def _argos_languages(saved: SavedModel) -> tuple[str, str] | None:
    """The only direction, if both languages have names and sentencepiece alone prepares text."""
    pairs = language_pairs(saved.config)
    named = len(pairs) == 1 and "source" not in pairs[0] and "target" not in pairs[0]
    pieces = saved.vocabularies.source
    if not named or pieces.sentencepiece is None or lowers_case(pieces):
        return None
    tags = tags_between(saved.config, pieces, *pairs[0])
    return None if tags else pairs[0]


def _suppressed(saved: SavedModel) -> list[list[str]]:
    return [[piece] for piece in saved.vocabularies.target.pieces(never_written(saved))]


def _longest(saved: SavedModel) -> int | None:
    """Maximum length of sources and outputs, in pieces without the end symbol; None for any."""
    positions = positions_of(saved.model)
    return None if positions is None else positions - 1


def _differences(saved: SavedModel) -> tuple[str, ...]:
    longest = _longest(saved)
    limit = ""
    if longest is not None:
        limit = f"Sources and outputs have up to {longest} pieces: longer ones fail. "
    return (
        "Probabilities are over the allowed pieces, and the length penalty is a power of the "
        "length; an output has at least one piece unless `min_decoding_length=0`.",
        "Only what the options of a call forbid is left out of outputs, such as "
        f"`suppress_sequences={_suppressed(saved)}`.",
        NOT_NORMALISED,
        f"{limit}`max_decoding_length` limits outputs, to 256 by default.",
    )


def _compare(
    directory: Path, saved: SavedModel, drawn: list[Probe]
) -> tuple[float, list[list[str]]]:
    """The largest difference of a log-probability, and CTranslate2's translations."""
    translator = ctranslate2.Translator(str(directory), device="cpu", intra_threads=1)
    sides = saved.vocabularies
    sources = [sides.source.pieces(pair.source[:-1]) for pair in drawn]
    targets = [sides.target.pieces(pair.target[:-1]) for pair in drawn]
    scored: Any = translator.score_batch(sources, targets)
    gaps = [
        float(np.abs(np.array(scores.log_probs) - pair.of_target).max())
        for scores, pair in zip(scored, drawn, strict=True)
    ]
    longest = min(_longest(saved) or _COMPARED, _COMPARED)
    results: Any = translator.translate_batch(sources, beam_size=1, max_decoding_length=longest)
    translator.unload_model()
    return largest(gaps), [result.hypotheses[0] for result in results]
