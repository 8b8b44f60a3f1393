"""Initialising a model with the weights of another model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.relocation import MODEL_PATH, ModelPath
from dragoman.data.vocabularies import Parent
from dragoman.models.interface import FamilyConfig, Part, Side, TranslationModel
from dragoman.models.layers.embeddings import OUTPUT_TIED, SIDES_TIED
from dragoman.saved.model import (
    CONFIG_FILE,
    home_of,
    load_model,
    model_directory,
    read_config,
    vocabularies_of,
)
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.weights import fixed_tensors, weights_digest, weights_of
from dragoman.text.vocabularies import Vocabularies, Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.extension import lineage
from dragoman.text.vocabularies.saved_vocabularies import FILE_NAMES

_KEY = "training.start_from"
_ALL: tuple[Part, ...] = ("encoder", "decoder", "embeddings")
# Settings that change how a model learns, but not what its weights mean.
OF_TRAINING = frozenset(
    [
        *("dropout", "attention_dropout", "feed_forward_dropout", "block_dropout"),
        *("initial_range", "mixture.importance_loss", "mixture.load_loss"),
        "language_tags",  # pre-training often has no tags at all
    ]
)
# Settings of the positions that a model sees.  Training may continue with others, as Longformer
# does from RoBERTa (Beltagy et al. 2020, section 5), but models that differ here have no mean.
_OF_SIGHT = frozenset(["window", "global_positions", "global_tags"])


class StartConfig(Config):
    """A model whose weights initialise this one; its path alone takes all of them.

    The family and all settings that its weights depend on must be the same here, except for parts
    that are not taken. A Transformer can also start from the decoder of a language model
    (`transformer_lm`), and the other way round.
    """

    model: ModelPath
    """A model, a finished run, or a checkpoint of a run."""
    parts: tuple[Part, ...] = Field(_ALL, min_length=1)
    """The parts to take; other weights are drawn at random. The embeddings are those of both sides,
    with the output projection and learned positions."""
    vocabulary: Literal["keep", "extend", "new"] = "keep"
    """Keep the other model's vocabulary (keep); extend it with pieces of the new text up to
    `vocabulary.size` (extend); or train a new one, or take that of `vocabulary.of` (new). A piece
    that the other vocabulary lacks begins with the mean embedding of the pieces into which that
    vocabulary splits it (Gee et al. 2022), or with a random embedding if a character is missing
    there."""
    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """Digest of its weights, which the run records when training begins; other weights are then
    refused. No need to set it."""

    def conflicts(self) -> Iterator[str]:
        """Parts named twice, and an extended vocabulary without its embeddings."""
        if len(set(self.parts)) < len(self.parts):
            yield "parts: a part is named twice"
        if self.vocabulary == "extend" and "embeddings" not in self.parts:
            yield "vocabulary: extend keeps embeddings; add them to parts, or set vocabulary: new"

    def story(self) -> str:
        """A sentence for the model card, without the paths of this machine."""
        weights = f" (weights {self.digest})" if self.digest else ""
        return f"Training began with the {_listed(self.parts)} of {Path(self.model).name}{weights}."


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _named_alone(values: Any) -> Any:
    """A model's path alone means all of its weights."""
    return {"model": values} if isinstance(values, str) else values


OptionalStart = Annotated[StartConfig | None, MODEL_PATH, BeforeValidator(_named_alone)]
"""A model's path, a section, or nothing."""


def digest_of(config: StartConfig, key: str = _KEY) -> str:
    """A digest that identifies the weights that training begins with.

    ``key`` is the section of the configuration, for messages here and below.

    Raises:
        SavedError: the model is missing, or not the one that training began with.
    """
    digest = weights_digest(model_directory(Path(config.model)))
    if config.digest not in {None, digest}:
        raise SavedError(
            f"{config.model}: its weights are not those with which this run began (see "
            f"{key}.digest); restore them, or begin another run"
        )
    return digest


def parent_vocabularies(
    start: StartConfig | None,
    config: VocabularyConfig,
    model: FamilyConfig,
    languages: tuple[str, str],
) -> Parent | None:
    """The vocabularies of another run that are kept, extended or taken, if any.

    Raises:
        ConfigError: the model needs a joint vocabulary, and the other run has two.
        SavedError: the other run is missing or damaged, or not the one that training began with.
    """
    if start is not None and start.vocabulary != "new":
        digest_of(start)
        vocabularies = vocabularies_of(Path(start.model))
        return Parent(vocabularies, start.model, start.vocabulary == "extend")
    if config.of is None:
        return None
    found = _vocabularies_of(config.of, model, languages)
    if config.digest not in {None, found.digest}:
        raise SavedError(
            f"{config.of}: its vocabulary is not the one with which this run began (see "
            "vocabulary.digest); restore it, or begin another run"
        )
    if model.joint_setting is not None and not found.same_ids:
        setting, other = model.joint_setting
        raise ConfigError(
            f"{setting} needs a joint vocabulary, and {config.of} (vocabulary.of) has one for each "
            f"side; set {other}"
        )
    return Parent(found, config.of, extended=False, setting="vocabulary.of")


def vocabularies_home(path: Path) -> Path:
    """The directory of the vocabularies of a run or model; a run has them once it is prepared."""
    prepared = any((path / name).is_file() for name in FILE_NAMES)
    return path if prepared else home_of(model_directory(path))


def _vocabularies_of(path: str, model: FamilyConfig, languages: tuple[str, str]) -> Vocabularies:
    """The vocabularies of a run or model, each for the side of its language."""
    home = vocabularies_home(Path(path))
    found = Vocabularies.load(home)
    their = read_config(home / CONFIG_FILE)
    source, target = languages
    differ = their.source_language != their.target_language
    if not model.reads_source:
        is_source = differ and target == their.source_language
        own = found.source if is_source else found.target
        return Vocabularies(own, own)
    opposite = (target, source) == (their.source_language, their.target_language)
    return Vocabularies(found.target, found.source) if differ and opposite else found


def check_start(config: StartConfig | None, model: FamilyConfig, key: str = _KEY) -> None:
    """Check before the work starts that the weights, if any, exist and fit the model."""
    if config is None:
        return
    digest_of(config, key)
    described = home_of(model_directory(Path(config.model))) / CONFIG_FILE
    parent = read_config(described).model
    check_kind(config, parent, model, described, key)


def check_kind(
    config: StartConfig,
    parent: FamilyConfig,
    model: FamilyConfig,
    described: str | Path,
    key: str = _KEY,
) -> None:
    """Check that the weights of ``parent`` mean the same in ``model``.

    ``described`` is the file or directory that describes ``parent``, for messages.

    Raises:
        ConfigError: the weights have another meaning; the message names all differences.
    """
    free = OF_TRAINING | _OF_SIGHT
    if differences := list(differences_of_kind(parent, model, config.parts, free)):
        remedy = f"set model as {described} says, or take fewer parts"
        if parent.family != model.family and model.components:
            remedy = f"name it in model.{' or model.'.join(model.components)} instead"
        raise ConfigError(
            f"{key}: {config.model} is another kind of model: {'; '.join(differences)}; {remedy}"
        )
    if parent.encoder_width is None and model.encoder_width and "encoder" in config.parts:
        others = [part for part in config.parts if part != "encoder"]
        raise ConfigError(
            f"{key}: {config.model} has no encoder; set parts: [{', '.join(others or _ALL[1:])}]"
        )


def take_over(
    model: TranslationModel, vocabularies: Vocabularies, config: StartConfig, key: str = _KEY
) -> None:
    """Give ``model`` the weights that ``config`` names and :func:`check_start` has checked."""
    digest_of(config, key)
    _copy(model, vocabularies, load_model(config.model, "cpu"), config, key)


def differences_of_kind(
    parent: FamilyConfig,
    child: FamilyConfig,
    parts: Sequence[Part] = _ALL,
    free: frozenset[str] = OF_TRAINING,
) -> Iterator[str]:
    """Differences that affect weights of ``parts``, such as "d_model 512, here 256".

    ``child`` gets the weights of ``parent``; the settings in ``free`` may differ.
    """
    if parent.family == child.family:
        theirs, ours = _flat(parent.model_dump()), _flat(child.model_dump())
        names = list(dict.fromkeys([*theirs, *ours]))
    elif parent.architecture == child.architecture:
        theirs, ours = _flat(parent.common_settings()), _flat(child.common_settings())
        # A setting that only one model has affects no weights of the other.
        names = [name for name in theirs if name in ours and name != "family"]
    else:  # the rest is not comparable
        theirs, ours, names = {"family": parent.family}, {"family": child.family}, ["family"]
    for name in names:
        there, here = theirs.get(name), ours.get(name)
        own = _within_component(name, child)
        concerns = own not in free and _concerns(own, parts)
        if there != here and concerns and not _splits(name, there, here, parent, child):
            yield f"{name} {_shown(there)}, here {_shown(here)}"


def _within_component(name: str, config: FamilyConfig) -> str:
    """The component's name for a setting of ``config``; ``name`` if it belongs to no component."""
    component, _, rest = name.partition(".")
    if component not in config.components:
        return name
    return _within_component(rest, getattr(config, component))


def _concerns(name: str, parts: Sequence[Part]) -> bool:
    """Whether weights of ``parts`` depend on the model setting ``name``."""
    if name in {"family", "d_model", "scale_embeddings", "normalize_embeddings"}:
        return True
    if name == "embeddings":
        return name in parts
    if not {"encoder", "decoder"} & set(parts):
        return False
    return not any(name.startswith(part) for part in ("encoder", "decoder") if part not in parts)


def _splits(name: str, there: Any, here: Any, parent: FamilyConfig, child: FamilyConfig) -> bool:
    """Whether one embedding matrix there becomes several here, all initialised with it.

    If one of the families has no source, only the matrices of the target count.
    """
    if name != "embeddings":
        return False
    if parent.family != child.family:
        return there in OUTPUT_TIED
    return _ties(here) < _ties(there)


def _ties(sharing: Any) -> set[str]:
    """The matrices that are the target's, too."""
    tied = {"source": SIDES_TIED, "output": OUTPUT_TIED}
    return {matrix for matrix, choices in tied.items() if sharing in choices}


def _flat(values: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{section}{name}.")
        else:
            flat[f"{section}{name}"] = value
    return flat


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


@torch.no_grad()
def _copy(
    model: TranslationModel,
    vocabularies: Vocabularies,
    parent: SavedModel,
    config: StartConfig,
    key: str,
) -> None:
    taken = {parent.model.common_name(name): tensor for name, tensor in _named(parent.model)}
    is_relative = type(model) is not type(parent.model)
    origins: dict[Side, list[list[int]] | None] = {
        "source": _origins(vocabularies.source, parent.vocabularies.source),
        "target": _origins(vocabularies.target, parent.vocabularies.target),
    }
    common = _common_names(model)
    for name, tensor in weights_of(model).items():
        if model.part_of(name) not in config.parts:
            continue
        found = next((taken[known] for known in common[name] if known in taken), None)
        if found is None and is_relative:
            continue  # attention over the source, or embeddings of the other side
        if found is None:
            raise ConfigError(f"{key}: {config.model} has no {name}; set model as there")
        side = model.side_of(name)
        rows = origins[side] if side is not None else None
        if tensor.shape[1:] != found.shape[1:] or (rows is None and tensor.shape != found.shape):
            raise ConfigError(
                f"{key}: {config.model} has {name} of shape "
                f"{list(found.shape)}, here {list(tensor.shape)}; set model as there"
            )
        if rows is None:
            tensor.copy_(found)
            continue
        for place, row in enumerate(rows):
            if row:
                tensor[place] = found[row].mean(0)


def _common_names(model: TranslationModel) -> dict[str, list[str]]:
    """The architecture's names of each weight of :func:`weights_of`; tied weights have several."""
    tied: dict[int, list[str]] = {}
    for name, tensor in _named(model):
        tied.setdefault(id(tensor), []).append(model.common_name(name))
    return {name: tied[id(tensor)] for name, tensor in weights_of(model).items()}


def _named(model: TranslationModel) -> Iterator[tuple[str, Tensor]]:
    """All saved tensors of a model by name; tied parameters have several names."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from fixed_tensors(model).items()


def _origins(child: Vocabulary, parent: Vocabulary) -> list[list[int]] | None:
    """The parent's pieces behind each piece; None if the vocabularies are the same."""
    return None if child.fingerprint == parent.fingerprint else lineage(child, parent)
