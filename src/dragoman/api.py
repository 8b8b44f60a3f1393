"""The functions of ``import dragoman``, which stay stable.

Each imports its modules when it is called, so that this module itself is light.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    import torch

    from dragoman.evaluation.metrics import Score
    from dragoman.recipe import ExperimentConfig
    from dragoman.training.observers import Observer, Record
    from dragoman.translation.call_options import SystemOptions
    from dragoman.translation.classification import Classifier
    from dragoman.translation.translator import Translator
    from dragoman.validation import Report


def load(
    *paths: Path | str, device: str | torch.device | None = None, **options: Unpack[SystemOptions]
) -> Translator:
    """Open a model or run directory; several make an ensemble.

    Args:
        paths: directories of models, runs or checkpoints, or names of installed models.
        device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.
        options: such as ``precision`` and ``workers``, see ``Translator.load``.

    Raises:
        SavedError: a model is missing or damaged, or their vocabularies differ.
        ConfigError: no path is given, or an option does not exist or is out of range.
    """
    from dragoman.translation.translator import Translator

    return Translator.load(*paths, device=device, **options)


def load_classifier(*paths: Path | str, device: str | None = None) -> Classifier:
    """Open a classifier; several make an ensemble, the mean of their probabilities.

    Args:
        paths: directories of models, runs or checkpoints.
        device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.

    Raises:
        SavedError: a model is missing or damaged, or their vocabularies differ.
        ConfigError: no path is given, a model does not classify, or a device does not exist.
    """
    from dragoman.translation.classification import Classifier

    return Classifier.load(*paths, device=device)


def read_recipe(path: Path | str, settings: Sequence[str] = ()) -> ExperimentConfig:
    """Read the run that a YAML file describes, with every default filled in.

    Args:
        path: the file, or the name of a recipe that comes with Dragoman.
        settings: overrides such as ``training.max_steps=500``.

    Raises:
        ConfigError: the file or a setting is wrong; one line names the key and the remedy.
    """
    from dragoman.core.arguments import check_lines, check_path
    from dragoman.recipe import read_experiment

    changes = list(check_lines(settings, "setting"))
    return read_experiment(check_path(path, "recipe"), changes)


@dataclass(frozen=True)
class TrainedRun:
    """A finished run."""

    path: Path
    """The run directory."""
    scores: dict[str, Report]
    """Scores of the finished model by set, ``dev`` first: ``loss``, ``perplexity`` and, by name,
    each metric with ``value`` and ``signature``."""

    def load(
        self, *, device: str | torch.device | None = None, **options: Unpack[SystemOptions]
    ) -> Translator:
        """Open the model, like :func:`load`."""
        return load(self.path, device=device, **options)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each set: its name as ``set``, loss, perplexity and the value of each metric.

        ``pandas.DataFrame(run.rows())`` makes a table of them.
        """
        return [
            {"set": name}
            | {
                figure: value["value"] if isinstance(value, dict) else value
                for figure, value in report.items()
                if not isinstance(value, dict) or "value" in value
            }
            for name, report in self.scores.items()
        ]

    def _repr_html_(self) -> str:
        from dragoman.core.html_tables import html_table

        return html_table(self.rows())


def train(
    recipe: ExperimentConfig | Path | str,
    run: Path | str,
    settings: Sequence[str] = (),
    *,
    observe: Callable[[Record], object] | None = None,
    log: Sequence[str] = (),
) -> TrainedRun:
    """Train by a recipe, in this process, and score the model, like ``dragoman train``.

    Args:
        recipe: from :func:`read_recipe`, or the path or name to read.
        run: the directory to create; to resume an interrupted run, use the command line.
        settings: overrides such as ``training.max_steps=500``, unless the recipe is already read.
        observe: called with each line of ``metrics.jsonl`` as a mapping: ``kind``, ``step`` and
            figures.
        log: experiment trackers that show the run, such as ``["csv"]``: names of ``--log``.

    Raises:
        ConfigError: the recipe is wrong, ``run`` holds a run or something else, or a tracker is
            unknown.
        MissingExtraError: the package of a tracker is missing.
        DataError: the text cannot be used.
        TrainingError: the loss stays non-finite.
        StorageError: a file cannot be written.
        InterruptedRunError: a signal came; everything learned is saved.
        UsageError: an argument has the wrong type.
    """
    from dragoman.core.arguments import check_function, check_lines, check_path
    from dragoman.core.errors import UsageError
    from dragoman.evaluation.metrics import check_installed
    from dragoman.experiment import Experiment
    from dragoman.recipe import ExperimentConfig
    from dragoman.run.run_directory import begin
    from dragoman.run.scores_file import read_scores
    from dragoman.training.distributed import World
    from dragoman.workflows.trackers.tracking import Tracking, tracked

    directory = check_path(run, "run directory")
    if observe is not None:
        check_function(observe, "observe")
    if not isinstance(recipe, ExperimentConfig):
        recipe = read_recipe(recipe, settings)
    elif settings:
        raise UsageError("this recipe has been read already; give settings to read_recipe")
    observers: list[Observer] = [] if observe is None else [_Told(observe)]
    for evaluation in recipe.evaluations():
        check_installed(evaluation)  # otherwise this would fail hours later
    tracking = Tracking(tuple(dict.fromkeys(check_lines(log, "tracker"))))
    tracking.found(directory)  # likewise
    with begin(directory):
        experiment = Experiment.create(recipe, directory)
        with tracked(tracking, experiment) as trackers:
            experiment.train(
                experiment.prepare(),
                World.alone(),
                lambda step: [*observers, *trackers.begin(step)],
                show=trackers.translations,
            )
            trackers.conclude()
    return TrainedRun(directory, read_scores(directory))


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu", "chrf"),
    *,
    sources: Sequence[str] | None = None,
    languages: tuple[str, str] | None = None,
    **options: Any,
) -> dict[str, Score]:
    """Score translations of a corpus against one or more sets of references.

    Args:
        hypotheses: the translations, one per sentence.
        references: a reference for each of them, or several such lists.
        metrics: ``bleu``, ``chrf``, ``ter`` and, with ``language="de"`` or another,
            ``wrong_language``; with sources, ``placeholders``, ``numbers`` and, with
            ``glossary="terms.tsv"``, ``terms``; for trees ``bracketing_f1`` and the others of
            docs/parsing.md.
        sources: the source sentences, for the metrics that read them.
        languages: source and target language, such as ``("en", "de")``; for a glossary,
            which needs them if it is TBX.
        options: of the ``evaluation`` section of a recipe, such as ``confidence_samples=1000``.

    Returns:
        A score by metric: ``value``, ``signature`` and, if requested, ``confidence``.

    Raises:
        DataError: the lists are empty, or differ in length.
        ConfigError: a metric or an option does not exist, or the language is unknown.
        MissingExtraError: the tokenizer for Japanese or Korean, or the identifier of languages, is
            not installed.
        UsageError: a line is not a string, ``metrics`` is not a list of names, or ``languages``
            are not two.
    """
    from dragoman.core.arguments import check_languages, check_lines, check_list
    from dragoman.core.config import parse
    from dragoman.evaluation.metrics import EvaluationConfig, SourceSide, score_corpus
    from dragoman.text.terms.terminology import counters

    one = isinstance(metrics, str)
    chosen = [metrics] if one else list(check_list(metrics, "metrics", "names"))
    config = parse(EvaluationConfig, {"metrics": chosen, **options}, "evaluate")
    pair = None if languages is None else check_languages(languages)
    lines = list(check_lines(hypotheses, "hypothesis"))
    several = isinstance(references, (list, tuple)) and not isinstance(
        next(iter(references), ""), str
    )
    sets: Sequence[Any] = references if several else [references]
    source = None
    if sources is not None:
        counted = counters(config.glossary, pair)
        source = SourceSide(list(check_lines(sources, "source")), counted)
    lists = [list(check_lines(texts, "reference")) for texts in sets]
    scores = score_corpus(lines, lists, config, source)
    return dict(zip(config.metrics, scores, strict=True))


class _Told:
    """A training observer that calls a function."""

    def __init__(self, tell: Callable[[Record], object]) -> None:
        self._tell = tell

    def record(self, record: Record) -> None:
        """Pass the record on."""
        self._tell(dict(record))

    def rewind(self, step: int) -> None:
        """Do nothing: records passed on cannot be withdrawn."""

    def close(self) -> None:
        """Nothing to close."""
