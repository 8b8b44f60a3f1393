"""Checks that the settings of a run are compatible, before work starts."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.evaluation.metric_names import BUILT_IN
from dragoman.evaluation.metrics import metric_named, metrics_of
from dragoman.recipe.description import RunDescription, is_train
from dragoman.recipe.sharing import layer_problems, sending_problems
from dragoman.text.corpora.back_translated import (
    BACK_TRANSLATION_NEEDS_ONE_VOCABULARY,
    back_translation_problems,
)
from dragoman.text.corpora.corpus_part import TRANSLATION, CorpusPart, context_problems
from dragoman.text.language_agreement import LanguageAgreement
from dragoman.text.transforms.inline_tagging import inline_tags
from dragoman.text.transforms.term_annotating import term_annotation
from dragoman.text.vocabularies.vocabulary import DECIDED_ELSEWHERE, OF_THE_KIND
from dragoman.training.bounds import unfit_bounds
from dragoman.training.components import unfit_components
from dragoman.training.given_embeddings import unfit_embeddings
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.schedule import between_points
from dragoman.training.settings import TaskConfig, task_problems

DECIDED_BY_PARENT = {
    "keep": (*DECIDED_ELSEWHERE, "of", "digest"),
    "extend": (*OF_THE_KIND, "of", "digest"),
}
"""Vocabulary settings that are ignored, by ``training.start_from.vocabulary``."""
BESIDE_SCORES = frozenset({"checkpoints", "share"})
"""Keys of ``scores.json`` beside the scores of each set, which no set may have as its name."""


def contradictions(run: RunDescription) -> Iterator[str]:
    """Parts of the run that contradict one another."""
    start = run.training.start_from
    if start is not None and start.vocabulary != "new":
        yield from _unread_of_vocabulary(run, start.vocabulary)
    elif run.model.joint_setting is not None and not run.vocabulary.joint:
        yield "{} needs vocabulary.joint: true; or set {}".format(*run.model.joint_setting)
    if run.search.coverage_penalty and not run.model.attention_layers:
        yield (
            "search.coverage_penalty needs attention over the source, which model.family: "
            f"{run.model.family} lacks; set it to 0"
        )
    for name in run.data.test.keys() & {"dev", *run.data.dev_sets}:
        yield f"data.test: {name} is the name of the scores of data.dev; choose another"
    for name in run.data.test.keys() & BESIDE_SCORES:
        yield f"data.test: {name} is something else in scores.json; choose another name"
    yield from _unfit_scores(run)
    sets = {} if isinstance(run.data.dev, CorpusPart) else run.data.dev
    has_moving_average = run.training.ema_decay is not None  # of which one checkpoint is taken
    yield from unfit_bounds(
        run.training.bounds,
        list(sets),
        run.evaluation.metrics,
        1 if has_moving_average else run.training.averaged,
        [name for name, part in sets.items() if part.back_translation],
    )
    yield from _labels_that_do_not_fit(run)
    yield from _unfit_objectives(run)
    yield from _nothing_to_improve(run)
    if run.training.embeddings is not None:
        yield from unfit_embeddings(run.training.embeddings, run.model)
    if start is None:
        yield from unfit_components(run.training.components, run.model)
        if run.training.components and run.vocabulary.of is None:
            yield (
                "vocabulary.of: a model composed of trained ones has their vocabulary; name "
                "one of them here"
            )
    yield from _unread_by_objective(run)
    yield from _trees_without_symbols(run)
    yield from _unread_alignments(run)
    yield from _terms_in_two_ways(run)
    yield from _files_that_match_nothing(run)
    yield from sending_problems(run)
    yield from layer_problems(run)
    yield from _tasks_that_do_not_fit(run)
    yield from _context_that_does_not_fit(run)
    yield from _sides_that_do_not_fit(run)
    yield from _language_agreement(run).problems()


def _unfit_objectives(run: RunDescription) -> Iterator[str]:
    """Losses that the model cannot learn by, of all tasks."""
    objectives = {"training.objective": run.training.objective}
    for name, task in run.training.tasks.items():
        if task.objective is not None:
            objectives[f"training.tasks.{name}.objective"] = task.objective
    for key, objective in objectives.items():
        for problem in objective.unfit(run.model):
            yield f"{key}: {problem}"


def nothing_improved(run: RunDescription) -> Iterator[str]:
    """Objectives that only improve a translator, where training begins without one.

    A recipe may leave open which model to start from, so this is checked when a run begins.
    """
    start = run.training.start_from
    if run.training.components or (start is not None and "decoder" in start.parts):
        return
    for _, key, objective, task in _improving(run):
        if between_points(task.weights, 1):
            yield (
                f"{key}: {objective.kind} improves a model that translates already; name one in "
                "training.start_from, and train it with cross_entropy first"
            )


def _nothing_to_improve(run: RunDescription) -> Iterator[str]:
    """Objectives that only improve translations, of parts without sources."""
    for name, key, objective, _ in _improving(run):
        for part_name, part in run.parts():
            if is_train(part_name) and part.task == name and part.cuts_off_source:
                yield (
                    f"{part_name}: dummy_source leaves {key}: {objective.kind} nothing to "
                    "translate; give the part another task"
                )


def _improving(run: RunDescription) -> Iterator[tuple[str, str, ObjectiveConfig, TaskConfig]]:
    """Tasks whose objective only improves a translator: name, key of the objective, and both."""
    for name in run.tasks():
        key, objective = _objective_of(run, name)
        if objective.improves:
            yield name, key, objective, run.training.tasks.get(name, TaskConfig())


def _objective_of(run: RunDescription, task: str) -> tuple[str, ObjectiveConfig]:
    """The objective of a task, and the key that names it."""
    own = run.training.tasks.get(task, TaskConfig()).objective
    if own is None:
        return "training.objective", run.training.objective
    return f"training.tasks.{task}.objective", own


def _unfit_scores(run: RunDescription) -> Iterator[str]:
    """Scores that cannot be computed, and a selection metric that is not among the scores."""
    metric = run.training.best_metric
    bounded = run.bounded_sets()
    selecting = [part for name, part in run.data.dev_sets.items() if name not in bounded]
    if metric == "round_trip":
        if not any(part.back_translation for part in selecting):
            yield (
                "training.best_metric round_trip needs a set in data.dev without source, with "
                f"the transform back_translation{' and without a bound' if bounded else ''}"
            )
    elif metric != "loss" and selecting and all(part.back_translation for part in selecting):
        yield (
            f"training.best_metric {metric} is of pairs, and all dev sets that select the best "
            "checkpoint have the transform back_translation; set it to round_trip or loss"
        )
    elif metric != "loss" and metric not in run.evaluation.metrics:
        yield (
            f"training.best_metric {metric} is not among evaluation.metrics; add it there, or "
            "set training.best_metric: loss"
        )
    if run.evaluation.language is not None:
        yield "evaluation.language: each set is scored by its own target_language; remove it"
    if "terms" in run.evaluation.metrics and run.evaluation.glossary is None:
        yield "evaluation.metrics: terms are of a glossary; name it in evaluation.glossary"


def _tasks_that_do_not_fit(run: RunDescription) -> Iterator[str]:
    """Tasks without text or weight, and sources that the model cannot make."""
    yield from task_problems(run.training.tasks, run.tasks())
    parts = run.parts_by_key()
    train = {key: part for key, part in parts.items() if is_train(key)}
    sets = {key: part for key, part in parts.items() if key not in train}
    yield from back_translation_problems(train, sets)
    makes_sources = any(part.back_translation is not None for part in train.values())
    if makes_sources and not run.vocabulary.joint and not _uses_vocabulary_of_another(run):
        yield BACK_TRANSLATION_NEEDS_ONE_VOCABULARY
    for key, part in sets.items():
        if part.task != TRANSLATION:
            yield f"{key}.task: {part.task} is not read outside of data.train; remove it"
    aligned = {part.task for part in train.values() if part.alignments is not None}
    for key, part in train.items():
        if part.back_translation and part.task in aligned:
            yield (
                f"{key}: back_translation and alignments do not go together in one task; name "
                "another task here, such as task: back_translation"
            )
        name, objective = _objective_of(run, part.task)
        if inline_tags(part.transforms) is not None and objective.wanted_candidates() is not None:
            yield (
                f"{key}: {name}: {objective.kind} compares the text with translations without "
                "inline tags; remove the transform that adds them, or name another task here"
            )


def _context_that_does_not_fit(run: RunDescription) -> Iterator[str]:
    """Context that differs from part to part, or that the model does not read or write."""
    context = run.data.context
    given = dict(run.parts())
    for name, part in run.parts_by_key().items():
        if given[name].context not in {None, context}:
            yield f"{name}.context: all text has the same; set data.context instead"
        elif context is not None:
            for problem in context_problems(part):
                yield f"{name}: {problem}"
    if context is None:
        return
    translates = run.training.objective.translates and not run.model.writes_labels
    if not run.model.reads_source or not translates:
        yield "data.context is for models that translate; remove it"
    if context.target and not run.search.allow_tags:
        yield (
            "data.context.target: translations then have the separator, which is a tag; set "
            "search.allow_tags: true"
        )


def _language_agreement(run: RunDescription) -> LanguageAgreement:
    train = {key: part for key, part in run.parts_by_key().items() if is_train(key)}
    return LanguageAgreement(
        train,
        run.sets_by_key(),
        run.full_vocabulary().tags,
        run.model.reads_source and run.training.objective.translates,
        _uses_vocabulary_of_another(run),
        run.general_text(),
        [key for key, part in train.items() if not _objective_of(run, part.task)[1].translates],
    )


def _unread_by_objective(run: RunDescription) -> Iterator[str]:
    """Settings that an objective which trains no translator ignores."""
    objective = run.training.objective
    if run.evaluation.metrics and not objective.translates:
        yield (
            "evaluation.metrics are of translations, and training.objective: "
            f"{objective.kind} trains no translator; set them to [], and "
            "training.best_metric: loss"
        )
    for name, part in run.parts():
        key, objective = _objective_of(run, part.task)
        if not is_train(name) or objective.translates:
            continue
        remedy = "remove the part, or give it a task with another objective"
        if part.cuts_off_source:
            yield (
                f"{name}: dummy_source with cut_off leaves {key}: {objective.kind} nothing to "
                f"learn from; {remedy}"
            )
        if part.back_translation is not None:
            yield (
                f"{name}: back_translation leaves {key}: {objective.kind} nothing to learn from, "
                f"as the model makes sources only later; {remedy}"
            )


def _trees_without_symbols(run: RunDescription) -> Iterator[str]:
    """Outputs that must be trees, from a vocabulary without the symbols of trees."""
    if run.search.grammar != "trees":
        return
    if not run.model.reads_source:
        yield "search.grammar: trees are of a source, which a language model does not read"
    elif not _uses_vocabulary_of_another(run) and run.vocabulary.target_kind != "word":
        yield (
            "search.grammar: trees are written in symbols that are one piece each; set "
            "vocabulary: {joint: false, target_kind: word}"
        )


def _labels_that_do_not_fit(run: RunDescription) -> Iterator[str]:
    """Labels for a model that writes text, and metrics of the other kind of output."""
    labels = run.model.writes_labels
    for name, part in {**dict(run.parts()), **run.general_text()}.items():
        if part.is_labelled and not labels:
            key = "label" if part.label is not None else "label_columns"
            yield f"{name}.{key} is for model.family: classifier; name a target instead"
        for number, transform in enumerate(part.transforms):
            if labels and transform.is_random and transform.uses_target:
                yield (
                    f"{name}.transforms.{number}: {transform.kind} may change the target, which is "
                    "a label; remove it, or change the source alone"
                )
    metrics = run.evaluation.metrics
    unfit = [metric for metric in metrics if (metric_named(metric).output == "labels") != labels]
    if unfit and labels:
        yield (
            f"evaluation.metrics: {', '.join(unfit)} are of text, and a classifier writes "
            f"labels; set them to [{', '.join(metrics_of('labels', BUILT_IN))}]"
        )
    elif unfit:
        yield (
            f"evaluation.metrics: {', '.join(unfit)} are of labels, for model.family: "
            "classifier; remove them"
        )


def _unread_alignments(run: RunDescription) -> Iterator[str]:
    """Alignments that no objective reads, and an objective without its alignments."""
    objective = run.training.objective
    if objective.reads_alignments and not any(part.is_aligned for part in run.data.train):
        yield (
            f"training.objective: {objective.kind} needs word alignments; name a file of them "
            "in data.train.0.alignments"
        )
    for name, part in run.parts():
        read = objective.reads_alignments and is_train(name)
        if part.alignments is not None and not read:
            yield (
                f"{name}.alignments are read in training by objective: {{kind: "
                "guided_alignment}; remove them"
            )


def _terms_in_two_ways(run: RunDescription) -> Iterator[str]:
    """Terms annotated in two ways, which leaves their annotation in use undefined."""
    found = {
        method: name
        for name, part in run.parts()
        if is_train(name) and (method := term_annotation(part.transforms)) is not None
    }
    if len(found) > 1:
        ways = ", ".join(f"{method} in {name}" for method, name in found.items())
        yield f"transforms: terms are annotated in two ways ({ways}); choose one method"


def _files_that_match_nothing(run: RunDescription) -> Iterator[str]:
    """Words of a file that are searched in text folded by the vocabulary.

    What runs in each epoch reads the text from its pieces.
    """
    normalization = run.vocabulary.normalization
    if normalization == "identity":
        return
    for name, part in run.parts():
        for transform in part.epoch_transforms if is_train(name) else ():
            if files := transform.files():
                or_all = ", or share and term_share to 1" if transform.kind == "terms" else ""
                yield (
                    f"{name}.transforms: {transform.kind} runs in each epoch, on text that "
                    f"vocabulary.normalization: {normalization} has changed, and may not find the "
                    f"words of {files[0]} there; set vocabulary.normalization to identity{or_all}"
                )


def _uses_vocabulary_of_another(run: RunDescription) -> bool:
    """Whether another model's vocabulary is used, with tags that are not known here."""
    start = run.training.start_from
    kept = start is not None and start.vocabulary != "new"
    return kept or run.vocabulary.of is not None


def _unread_of_vocabulary(run: RunDescription, choice: str) -> Iterator[str]:
    """Settings that another model's vocabulary, kept or extended, decides."""
    circumstance = f"with training.start_from.vocabulary: {choice}"
    for problem in run.vocabulary.unread(circumstance, *DECIDED_BY_PARENT[choice]):
        yield f"vocabulary.{problem}"


def _sides_that_do_not_fit(run: RunDescription) -> Iterator[str]:
    """A missing source, and a source that the model does not read."""
    reads = run.model.reads_source
    for name, part in {**dict(run.parts()), **run.general_text()}.items():
        if reads and not part.gives_source:
            yield f"{name} has no source, which this model reads; name it"
        if part.gives_source and not reads:
            yield (
                f"{name} has a source, which a language model does not read; name its target "
                "alone, or set model.source"
            )
    if reads:
        return
    unfit = {
        "evaluation.metrics are of translations; set them to []": run.evaluation.metrics,
        "vocabulary.joint: false is for two sides; leave it out": not run.vocabulary.joint,
        "data.cleaning.source_scripts are of a source; leave them out": (
            run.data.cleaning.source_scripts
        ),
    }
    for problem in (problem for problem, found in unfit.items() if found):
        yield f"a language model reads no source: {problem}"
