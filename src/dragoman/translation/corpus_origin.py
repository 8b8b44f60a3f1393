"""The origin of a synthetic corpus: all that decides its lines, by content and not by path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from dragoman.core.errors import ConfigError
from dragoman.core.files import content_digest
from dragoman.saved.adapter import read_adapter
from dragoman.saved.calibration import calibration_path
from dragoman.saved.model import model_directory
from dragoman.saved.shortlist import shortlist_path
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import WEIGHTS_FILE, weights_digest
from dragoman.search import SamplingConfig, SearchConfig
from dragoman.translation.bayes_risk import sampling_settings
from dragoman.translation.translator import Translator

Known = Literal["source", "target"]
"""The side of the given text; its translation becomes the other."""

# These affect where and how fast a line is translated, but not the result.  Search is compared
# whole.
_NOT_COMPARED = {"device", "workers", "search"}
# Settings that older corpora do not name.
_CAME_LATER = ("constrained_beam", "grammar", "unknown", "mbr")
_LATER_FILTERS = ("min_p", "epsilon")


def settings_of(
    system: TranslationSystem,
    translator: Translator,
    known: Known,
    closest: str | None,
    shard_lines: int,
) -> dict[str, Any]:
    """Everything that a corpus depends on, apart from the text.

    ``closest`` is the name of the measure that chooses among several translations.

    Raises:
        ConfigError: there is one translation, and nothing to choose.
        SavedError: a model or the adapter is missing or damaged.
    """
    if closest is not None and translator.search.nbest == 1:
        raise ConfigError("the closest of several translations needs nbest above 1")
    digests: list[str] = []
    described = _with_digests(system.plain(), digests)
    described.update(_files_of(system, described))
    search = translator.search.model_dump(mode="json")
    for name in _CAME_LATER:  # so that older corpora go on
        if search[name] == SearchConfig.model_fields[name].default:
            del search[name]
    for name in _LATER_FILTERS if search["sampling"] is not None else ():
        if search["sampling"][name] == SamplingConfig.model_fields[name].default:
            del search["sampling"][name]
    return {
        "known": known,
        "method": method_of(translator.search, closest),
        "models": digests,
        "system": {name: described[name] for name in described if name not in _NOT_COMPARED},
        "tags": list(translator.tags),
        "search": search,
        "shard_lines": shard_lines,
    }


def _files_of(system: TranslationSystem, described: Mapping[str, Any]) -> dict[str, Any]:
    """The values that name files other than models, with digests in place of paths."""
    found: dict[str, Any] = {}
    if system.shortlist:
        found["shortlist"] = [content_digest(shortlist_path(leg)) for leg in system.legs()]
    if system.confidence:
        found["confidence"] = content_digest(calibration_path(system))
    if system.adapter is not None:
        found["adapter"] = content_digest(read_adapter(system.adapter).path)
    if (terms := system.terms) is not None:
        found["terms"] = dict(described["terms"])
        if terms.glossary:
            digests = [content_digest(file) for file in terms.glossary]
            # One was no list in earlier versions, whose corpora go on.
            found["terms"]["glossary"] = digests if len(digests) > 1 else digests[0]
        if terms.keep:
            found["terms"]["keep"] = [content_digest(file) for file in terms.keep]
    return found


def _with_digests(values: Mapping[str, Any], digests: list[str]) -> dict[str, Any]:
    """A description with digests, which are also added to a list, in place of models' paths."""

    def digest_of(path: str) -> str:
        digests.append(model_digest(Path(path)))
        return digests[-1]

    changed = dict(values)
    for name, value in values.items():
        if name == "models" and value is not None:
            changed[name] = [digest_of(path) for path in value]
        elif name == "path":
            changed[name] = digest_of(value)
        elif isinstance(value, Mapping) and name != "search":
            changed[name] = _with_digests(value, digests)
    return changed


def model_digest(path: Path) -> str:
    """A digest of the weights of a model, run or checkpoint.

    Raises:
        SavedError: the model is missing or damaged.
    """
    directory = model_directory(path)
    found = weights_digest(directory)
    # A model of an old release may lack a digest.
    return content_digest(directory / WEIGHTS_FILE) if found == "None" else found


def method_of(search: SearchConfig, closest: str | None = None) -> str:
    """The method of translation in a few words, such as "sampling, top-k 10, seed 1"."""
    drawn, words = search.sampling, ["sampling"]
    if (mbr := search.mbr) is not None:
        drawn = sampling_settings(search).sampling
        words = [f"minimum Bayes risk of {mbr.samples} samples by {mbr.utility}"]
        words += [] if mbr.candidates == "samples" else [f"candidates {mbr.candidates}"]
    if drawn is None:
        words = ["greedy" if search.beam == 1 else f"beam {search.beam}"]
    else:
        words.append(str(drawn))
    if closest is not None:
        words.append(f"closest of {search.nbest} by {closest}")
    return ", ".join(words)
