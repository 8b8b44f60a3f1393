"""Scoring weights of a run on its dev and test sets, as in training and at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import merged
from dragoman.recipe import ExperimentConfig
from dragoman.run.monolingual_validation import ObjectiveValidation, RoundTripValidation
from dragoman.saved.model import build_model
from dragoman.saved.saved_config import SavedConfig, tags_learned
from dragoman.saved.weights import Undrawn, load_weights
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.distributed import World
from dragoman.validation import Evaluated, Report, Validation, figures, mean_figures


@dataclass(frozen=True)
class SetScorer:
    """Scores weights of a run on its sets, each process its share."""

    config: ExperimentConfig
    run: Path
    vocabularies: Vocabularies
    world: World
    tell: Callable[[str], object]

    def __call__(
        self, weights: dict[str, Tensor], sets: dict[str, CorpusPart], what: str = "the model"
    ) -> dict[str, Evaluated]:
        """Reports and translations by set; ``what`` names the weights in messages."""
        model = self.model_of(weights)
        return {
            name: validation.evaluate(model) for name, validation in self.validations(sets, what)
        }

    def model_of(self, weights: dict[str, Tensor]) -> TranslationModel:
        """A model with these weights, on the device of this process."""
        with Undrawn():
            model = build_model(self.config.model, self.vocabularies)
        load_weights(model, merged(weights), self.run, adopt=True)  # which scoring only reads
        return model.to(self.world.device)

    def validations(
        self, sets: dict[str, CorpusPart], what: str
    ) -> Iterator[tuple[str, Validation]]:
        """The validation of each set, by name; the leader tells about each when it is its turn."""
        for name, part in sets.items():
            validation = validation_of(self.config, part, self.vocabularies, self.world)
            if self.world.is_leader:
                lines = f"{len(validation.references):,} sentences"
                self.tell(f"scoring {what} on {name}: {lines}")
            yield name, validation

    def selected_by(self, reports: dict[str, Report]) -> float | None:
        """The figure that selects the best checkpoint, over the dev sets without a bound.

        None if the sets have no such figure.
        """
        config, apart = self.config, self.config.bounded_sets()
        sets = {name: figures(reports[name]) for name in config.dev_sets() if name not in apart}
        return mean_figures(sets).get(config.training.best_metric)


def validation_of(
    config: ExperimentConfig, part: CorpusPart, vocabularies: Vocabularies, world: World
) -> Validation:
    """The validation of a run on a set, in training and at its end."""
    search, evaluation = config.decoding, config.evaluation_of(part)
    objective = config.training.objective
    if not objective.translates:
        return ObjectiveValidation(
            *(part, vocabularies, search, evaluation, world),
            objective=objective,
            model=config.model,
        )
    given = part, vocabularies, search, evaluation, world
    learned = saved_config(config, vocabularies).inline_tags
    if (back := config.back_tags(part)) is not None:
        return RoundTripValidation(*given, back=back, inline_tags=learned)
    return Validation(*given, inline_tags=learned)


def saved_config(config: ExperimentConfig, vocabularies: Vocabularies) -> SavedConfig:
    """The content of the model's own ``config.yaml``."""
    transforms = [transform for part in config.data.train for transform in part.transforms]
    start = config.training.model_dump()["start_from"]
    return SavedConfig(
        source_language=config.source_language,
        target_language=config.target_language,
        model=config.model,
        search=config.decoding.model_dump(),
        directions=tuple(config.directions()),
        context=config.data.context,
        translates=config.training.objective.translates,
        **tags_learned(transforms, start, lambda: vocabularies),
    )
