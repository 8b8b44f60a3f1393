"""The training tasks of a run: a stream of batches and an objective for each that its parts name."""

from __future__ import annotations

from collections.abc import Collection

from dragoman.data.alignments import AlignedBatches
from dragoman.data.batches import Batches
from dragoman.data.store import Store
from dragoman.recipe import ExperimentConfig
from dragoman.text.tags import tagged
from dragoman.text.vocabulary import Vocabularies
from dragoman.training.distributed import World
from dragoman.training.objectives.source_cut_off import SourceCutOff
from dragoman.training.on_line import BackTranslated, BackTranslation
from dragoman.training.task_settings import TaskConfig
from dragoman.training.tasks import Stream, Task
from dragoman.translation.on_line import id_translator


def run_tasks(
    config: ExperimentConfig,
    vocabularies: Vocabularies,
    store: Store,
    alignments: Store | None,
    world: World,
) -> list[Task]:
    """The tasks, in the order of the parts that name them.

    Args:
        config: of the run.
        vocabularies: of the store.
        store: all pairs of the run, part by part.
        alignments: of the same rows, if the objective reads them.
        world: the processes that train together, each of which reads its share.
    """
    return [_task(name, config, vocabularies, store, alignments, world) for name in config.tasks()]


def _task(
    name: str,
    config: ExperimentConfig,
    vocabularies: Vocabularies,
    store: Store,
    alignments: Store | None,
    world: World,
) -> Task:
    training, parts = config.training, config.train_parts()
    settings = training.tasks.get(name, TaskConfig())
    chosen = frozenset(number for number, part in enumerate(parts) if part.task == name)
    pairs = Batches(
        store,
        training.step_tokens,
        training.device_tokens,
        seed=config.seed,
        rank=world.rank,
        world_size=world.size,
        vocabularies=vocabularies,
        sampling=config.vocabulary.sampling,
        parts=parts,
        sampling_temperature=config.data.sampling_temperature,
        chosen=chosen,
    )
    stream: Stream = pairs
    if alignments is not None and settings.objective is None:
        stream = AlignedBatches(pairs, alignments, vocabularies)
    if wanted := _back_translations(config, vocabularies, chosen):
        translate = id_translator(vocabularies.target.tags)
        stream = BackTranslated(stream, wanted, translate, config.data.max_pieces)
    loss = settings.objective or training.objective
    objective = loss.build(training.label_smoothing, config.model)
    without_source = frozenset(number for number in chosen if parts[number].cuts_off_source)
    if without_source:
        objective = SourceCutOff(objective, without_source)
    return Task(name, stream, objective, settings.weights)


def _back_translations(
    config: ExperimentConfig, vocabularies: Vocabularies, chosen: Collection[int]
) -> dict[int, BackTranslation]:
    """How the model makes the sources of those of the chosen parts that have none, by number."""
    found = {}
    for number, part in enumerate(config.train_parts()):
        tags = config.back_tags(part)
        if number in chosen and part.back_translation and tags is not None:
            ids = tuple(vocabularies.source.encode(tagged(tags, "")))
            found[number] = BackTranslation(part.back_translation, ids)
    return found
