"""A trained system on disk: configuration, vocabularies and weights.

A model directory holds ``config.yaml``, ``vocabulary.model``, ``model.safetensors`` and
``README.md``.  A run directory holds checkpoints and, once training has ended, a model in
``model/``.  Nothing is unpickled: configurations are YAML, weights are safetensors.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.core.config import parse, read_yaml, to_yaml
from dragoman.core.device import Precision, best_device, working_precision
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_directory
from dragoman.core.wording import in_shell
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import merged
from dragoman.models.layers.source_tags import SourceTags, tell_tags
from dragoman.models.size import check_size
from dragoman.saved.model_card import model_card
from dragoman.saved.saved_config import FORMAT, SavedConfig, SavedModel, learned_in_run
from dragoman.saved.weights import (
    WEIGHTS_FILE,
    Undrawn,
    check_readable,
    load_weights,
    read_weights,
    write_tensors,
)
from dragoman.text.vocabularies import BOS, Vocabularies
from dragoman.text.vocabularies.saved_vocabularies import FILE_NAMES
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary

if TYPE_CHECKING:
    from dragoman.saved.adapter import Adapter


CONFIG_FILE = "config.yaml"
CARD_FILE = "README.md"
CONFIDENCE_FILE = "confidence.json"
SHORTLIST_FILE = "shortlist.safetensors"
PIECES_FILE = "pieces.safetensors"
MODEL_DIRECTORY = "model"
CONVERTED_DIRECTORY = "ctranslate2"
MODEL_FILES = frozenset(
    [
        *(CONFIG_FILE, WEIGHTS_FILE, CARD_FILE, CONFIDENCE_FILE, SHORTLIST_FILE, PIECES_FILE),
        *(*FILE_NAMES, CONVERTED_DIRECTORY),
    ]
)
"""Everything that a model directory holds; a directory with anything else is not replaced."""
CHECKPOINTS_DIRECTORY = "checkpoints"


def build_model(config: ModelConfig, vocabularies: Vocabularies) -> TranslationModel:
    """A model with fresh weights, for these vocabularies.

    Raises:
        ConfigError: the configuration does not fit the vocabularies, or the model does not fit in
            memory.
    """
    if config.joint_setting is not None and not vocabularies.same_ids:
        setting, other = config.joint_setting
        raise ConfigError(
            f"{setting} needs a joint vocabulary; set vocabulary.joint: true or {other}"
        )
    sizes = len(vocabularies.source), len(vocabularies.target)
    check_size(config, *sizes)
    model = FAMILIES[config.family](config, *sizes)
    source = vocabularies.source
    tell_tags(model, SourceTags(source.language_tags, BOS, source.tag))
    return model


def read_merged_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a file, with the low-rank factors among them added to their matrices."""
    return merged(read_weights(path))


def save_model(
    directory: Path,
    config: SavedConfig,
    vocabularies: Vocabularies,
    weights: dict[str, Tensor],
    *,
    card: str | None = None,
    kept: Iterable[Path] = (),
) -> None:
    """Write a model directory, whole or not at all; an existing model is replaced.

    Args:
        directory: directory to write.
        config: configuration of the model.
        vocabularies: vocabularies of the model.
        weights: weights by name.
        card: the model card; None: it tells what is known of a model without a training.
        kept: files that are copied unchanged, such as those that stay of an existing model.

    Raises:
        StorageError: the directory cannot be written, or holds something other than a model.
    """
    with atomic_directory(directory, MODEL_FILES) as temporary:
        values = {"format": _format(config, vocabularies), **config.model_dump()}
        (temporary / CONFIG_FILE).write_text(to_yaml(values), encoding="utf-8")
        vocabularies.save(temporary)
        write_tensors(temporary / WEIGHTS_FILE, weights)
        card = model_card(config, weights) if card is None else card
        # Text in files of other toolkits may be invalid Unicode, such as half of a surrogate pair.
        (temporary / CARD_FILE).write_bytes(card.encode("utf-8", "replace"))
        for path in kept:
            shutil.copyfile(path, temporary / path.name)


def read_card(directory: Path) -> str | None:
    """The card of a model; None without a card that is text."""
    try:
        return (directory / CARD_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def has_model(run: Path) -> bool:
    """Whether a run has finished training and written its model."""
    return os.path.isfile(run / MODEL_DIRECTORY / WEIGHTS_FILE)


def model_directory(path: Path) -> Path:
    """The model directory at ``path``: itself, or that of a run.

    Raises:
        SavedError: nothing is there, it is a run that has no model yet or weights without their
            configuration, or it may not be read.
    """
    if has_model(path):
        return path / MODEL_DIRECTORY
    if os.path.isfile(path / WEIGHTS_FILE):
        if not (home_of(path) / CONFIG_FILE).is_file():
            raise SavedError(
                f"{path}: its {CONFIG_FILE} is missing; copy the whole model, or name a checkpoint "
                "within its run; if another toolkit made it, make it Dragoman's with 'dragoman "
                f"import {in_shell(path)} --output MODEL'"
            )
        return path
    if (problem := _unfinished(path)) is not None:
        raise SavedError(f"{path}: {problem}")
    if not os.path.exists(path):
        raise SavedError(f"{path}: no such model or run")
    if os.path.isfile(path):
        raise SavedError(f"{path}: this is a file; name the directory of a model or run")
    check_readable(path, os.R_OK | os.X_OK)
    raise SavedError(f"{path}: neither a model ({WEIGHTS_FILE}) nor a run")


def _unfinished(path: Path) -> str | None:
    """The reason why a run has no model, with a remedy; None if the directory is not a run."""
    has_checkpoint = any((path / CHECKPOINTS_DIRECTORY).glob(f"*/{WEIGHTS_FILE}"))
    if not (path / CONFIG_FILE).is_file():
        if not os.path.isdir(path / CHECKPOINTS_DIRECTORY):
            return None
        return (
            f"this is part of a run: its {CONFIG_FILE} is missing; name the whole run, which may "
            "have been moved while it trained"
        )
    if not {"data", "training"} <= read_yaml(path / CONFIG_FILE).keys():
        return f"its {WEIGHTS_FILE} is missing; copy the whole model"
    run, output = in_shell(path), in_shell(path / MODEL_DIRECTORY)
    if not has_checkpoint:
        return f"this run has neither model nor checkpoint; train it with 'dragoman resume {run}'"
    return (
        f"this run has no finished model; finish it with 'dragoman resume {run}', or "
        f"make one of its checkpoints with 'dragoman average {run} --output {output}'"
    )


def home_of(directory: Path) -> Path:
    """The directory of configuration and vocabularies: a checkpoint shares those of its run.

    The path is tried as written and resolved: the parents of a name such as ``.`` or of a link are
    not those of its target, and a folder of checkpoints may itself be a link.
    """
    if (directory / CONFIG_FILE).is_file():
        return directory
    homes = [path.parent.parent for path in (Path(os.path.abspath(directory)), directory.resolve())]
    return next((home for home in homes if (home / CONFIG_FILE).is_file()), homes[0])


def read_config(path: Path) -> SavedConfig:
    """Read the part of a model's or a run's ``config.yaml`` that describes the model."""
    values = read_yaml(path)
    _check_format(values.get("format", 1), path)
    known = {name: values[name] for name in SavedConfig.model_fields if name in values}
    data = values.get("data")
    if isinstance(data, dict) and data.get("context") is not None:
        known["context"] = data["context"]
    config = parse(SavedConfig, known, path)
    languages = config.source_language, config.target_language
    return config.model_copy(update=learned_in_run(values, languages, path))


def config_of(path: Path) -> SavedConfig:
    """The configuration of a model, a run or one of its checkpoints."""
    return read_config(home_of(model_directory(path)) / CONFIG_FILE)


def vocabularies_of(path: Path) -> Vocabularies:
    """The vocabularies of a model, a run or one of its checkpoints."""
    return Vocabularies.load(home_of(model_directory(path)))


def load_model(
    path: Path | str, device: torch.device | str | None = None, adapter: Adapter | None = None
) -> SavedModel:
    """Open a model or a finished run, in evaluation mode.

    Args:
        path: a model directory, a run directory or one of a run's checkpoints.
        device: where to put the weights; by default, a GPU if available.
        adapter: is merged into the weights.
    """
    directory = model_directory(Path(path))
    home = home_of(directory)
    config = read_config(home / CONFIG_FILE)
    vocabularies = Vocabularies.load(home)
    with Undrawn():
        model = build_model(config.model, vocabularies)
    weights = read_merged_weights(directory / WEIGHTS_FILE)
    if adapter is not None:
        weights = adapter.onto(weights, directory)
    load_weights(model, weights, directory / WEIGHTS_FILE, adopt=True)
    return SavedModel(config, vocabularies, model.to(device or best_device()).eval(), directory)


def load_for_search(
    path: Path | str,
    device: torch.device | str | None = None,
    precision: Precision = "float32",
    adapter: Adapter | None = None,
) -> SavedModel:
    """Open a model for translation, not for further training.

    Weights that are computed from others at each use, as by weight normalisation, are computed once
    and replace those.  PyTorch's own cache of them would apply to all threads and all models of a
    process.  Only then is the precision lowered.
    """
    saved = load_model(path, device, adapter)
    settle_weights(saved.model)
    where = next(saved.model.parameters()).device
    saved.model.to(working_precision(precision, where))
    return saved


def settle_weights(model: nn.Module) -> None:
    """Replace weights that are computed from others at each use by their current values."""
    for module in list(model.modules()):
        if parametrize.is_parametrized(module):
            for name in list(cast(nn.ModuleDict, module.parametrizations)):
                parametrize.remove_parametrizations(module, name, leave_parametrized=True)


def _format(config: SavedConfig, vocabularies: Vocabularies) -> int:
    """The lowest format whose readers translate with a model as it was trained."""
    if any(
        isinstance(vocabulary, SentencePieceVocabulary)
        and vocabulary.tags_alone
        and vocabulary.tags
        for vocabulary in vocabularies
    ):
        return FORMAT
    return 1 if config.context is None else 2


def _check_format(found: object, where: Path) -> None:
    """Check the format before reading anything else, which may differ in a newer format."""
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise SavedError(f"{where}: format: expected a whole number from 1 on, found {found!r}")
    if found > FORMAT:
        raise SavedError(
            f"{where}: a model of format {found}, and this Dragoman reads formats up to {FORMAT}; "
            "open it with a newer release of Dragoman"
        )
