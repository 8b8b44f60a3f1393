"""The training tasks of a run: a stream and an objective for each task named by its parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from dragoman.core.errors import ConfigError
from dragoman.data.alignments import AlignedBatches
from dragoman.data.batches import Batches
from dragoman.data.grouping import DeviceTokens
from dragoman.data.store import Store
from dragoman.data.vocabularies import counted_pieces
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.rewards import SentenceReward
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.back_translated import BACK_TRANSLATION_NEEDS_ONE_VOCABULARY
from dragoman.text.tags import tagged
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies
from dragoman.training.distributed import World
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.source_cut_off import SourceCutOff
from dragoman.training.on_line import (
    BackTranslated,
    WantedCandidates,
    WantedSources,
    WithCandidates,
)
from dragoman.training.settings import TaskConfig
from dragoman.training.tasks import Objective, Stream, Task
from dragoman.translation.id_translation import id_search, id_translator


def run_tasks(
    config: ExperimentConfig,
    vocabularies: Vocabularies,
    store: Store,
    alignments: Store | None,
    world: World,
    *,
    device_tokens: DeviceTokens | None = None,
) -> list[Task]:
    """The tasks, in the order of the parts that name them.

    The device tokens, in place of ``training.device_tokens``, may be lowered later.
    """
    device_tokens = device_tokens or DeviceTokens(config.training.device_tokens)
    found = []
    for name in config.tasks():
        settings = config.training.tasks.get(name, TaskConfig())
        chosen = settings.objective or config.training.objective
        parts = frozenset(n for n, part in enumerate(config.data.train) if part.task == name)
        stream: Stream
        stream = pairs = _batches(
            config, vocabularies, store, parts, world, device_tokens=device_tokens
        )
        if alignments is not None and settings.objective is None:
            stream = AlignedBatches(pairs, alignments, vocabularies)
        stream = chosen.reading(stream, vocabularies, config.seed)
        if wanted := _back_translations(config, vocabularies, store, parts):
            if not vocabularies.same_ids:
                raise ConfigError(BACK_TRANSLATION_NEEDS_ONE_VOCABULARY)
            translate = id_translator(vocabularies.target.tags)
            stream = BackTranslated(stream, wanted, translate, config.data.max_pieces)
        if candidates := chosen.wanted_candidates():
            allow_tags = config.search.allow_tags
            stream = with_candidates(
                stream, candidates, vocabularies, config.evaluation, allow_tags=allow_tags
            )
        objective = _objective(config, chosen, parts)
        found.append(Task(name, stream, objective, settings.weights))
    return found


def with_candidates(
    stream: Stream,
    wanted: WantedCandidates,
    vocabularies: Vocabularies,
    evaluation: EvaluationConfig,
    *,
    allow_tags: bool = False,
) -> Stream:
    """A stream whose sources the model in training translates, rated as text.

    Text, and not pieces, because that is what validation and people score: sampling of subwords
    changes the pieces of a reference, and chrF needs characters.  Tags in outputs are allowed or
    not as in the run's own search.
    """
    target, reward = vocabularies.target, SentenceReward(wanted.reward, evaluation)

    def rate(outputs: Sequence[list[int]], reference: list[int]) -> list[float]:
        return reward([target.decode(ids) for ids in outputs], target.decode(reference))

    searched = wanted.search.model_copy(update={"allow_tags": allow_tags})
    wanted = replace(wanted, search=searched)
    return WithCandidates(stream, wanted, id_search(target.tags), rate)


def _batches(
    config: ExperimentConfig,
    vocabularies: Vocabularies,
    store: Store,
    parts: Collection[int],
    world: World,
    *,
    device_tokens: DeviceTokens,
) -> Batches:
    """The batches of some parts of the store, by number."""
    training = config.training
    return Batches(
        store,
        training.step_tokens,
        device_tokens,
        seed=config.seed,
        rank=world.rank,
        world_size=world.size,
        vocabularies=vocabularies,
        sampling=config.vocabulary.sampling,
        parts=config.train_parts(),
        sampling_temperature=config.data.sampling_temperature,
        chosen=parts,
        apart=world.device.type == "cuda",
        longest=_longest(config),
    )


def _longest(config: ExperimentConfig) -> int:
    """Maximum pieces of a side that grows after it is stored, leaving room for the end symbol."""
    longest, positions = config.data.max_pieces, config.model.position_limit
    return longest if positions is None else min(longest, positions - 1)


def _objective(
    config: ExperimentConfig, chosen: ObjectiveConfig, parts: Collection[int]
) -> Objective:
    """The loss of a task, from which some of its parts may cut off their sources."""
    objective = chosen.build(config.training.label_smoothing, config.model)
    cut_off = {n: part for n, part in enumerate(config.data.train) if part.cuts_off_source}
    for zero in (False, True):
        without = frozenset(n for n in cut_off if n in parts and cut_off[n].zeroes_source is zero)
        if without:
            objective = SourceCutOff(objective, without, zero=zero)
    return objective


def _back_translations(
    config: ExperimentConfig, vocabularies: Vocabularies, store: Store, chosen: Collection[int]
) -> dict[int, WantedSources]:
    """Settings of back-translation for the chosen parts without sources, by number."""
    found = {}
    frequencies: PieceFrequencies | None = None
    for number, part in enumerate(config.train_parts()):
        tags, settings = config.back_tags(part), part.back_translation
        if number not in chosen or not settings or tags is None:
            continue
        ids = tuple(vocabularies.source.encode(tagged(tags, "")))
        never: tuple[int, ...] = ()
        if settings.own_pieces:
            frequencies = frequencies or counted_pieces(store, vocabularies)
            language, other = part.direction.source_language, part.direction.target_language
            never = frequencies.foreign(language, settings.own_pieces, [other])
        found[number] = WantedSources(settings, ids, never)
    return found
