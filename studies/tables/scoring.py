"""Scores of what is translated, differences from the baseline, and what training took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.files import content_digest, write_json
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    metric_named,
    score_corpus,
)
from dragoman.evaluation.significance import compare_systems, difference_interval
from dragoman.saved.system import read_system
from dragoman.text.lines import read_lines
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.validation import source_side
from studies.tables.plan import Row, Section
from studies.tables.work import (
    BUSY,
    Cell,
    Work,
    cells,
    changed,
    is_translated,
    text_of,
    translation_command,
    translations,
)
from studies.tables.workplace import (
    SCORES,
    STAGES,
    TRANSLATIONS,
    State,
    Workplace,
    problem_of,
    same,
    shell,
)

_LATER = {"glossary"}
"""Settings that older records lack; where they are read, the content of the file is compared."""


@dataclass(frozen=True)
class Cost:
    """What training took."""

    steps: int
    """Steps of the models that translate; 0 if none of them has its checkpoints."""
    target_tokens: int
    """Target tokens that they learned from, padding excluded."""
    seconds: float
    """Seconds of their training."""
    seconds_in_all: float
    """The same with all stages that they needed."""


@dataclass(frozen=True)
class Line:
    """One row on one test."""

    row: str
    label: str
    test: str
    published: str
    command: str = ""
    """The command that translates."""
    missing: str = ""
    """Why there is no figure; empty if there is one, or never will be."""
    scores: Sequence[Mapping[str, Any]] = ()
    """As ``dragoman evaluate --json`` prints them."""
    baseline: str = ""
    """The row that it was compared with."""
    other_baseline: str = ""
    """Its label, if it is another system than the section's baseline."""
    difference: Mapping[str, Any] | None = None
    """The first metric's difference from the baseline; None for the baseline, or before it is
    translated."""
    interval: tuple[float, float] | None = None
    """95 % interval of the difference, if the table asks for it."""
    cost: Cost | None = None
    """None if there are no scores."""
    translation_seconds: float | None = None
    """What translating took; None if that is not known."""
    group: str = ""
    """Rows of the same group are shown as one."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def measure(work: Work) -> dict[str, list[Line]]:
    """The lines of each section by its title: test by test, rows in their order.

    Scores are kept, and computed again only if translations or settings have changed.  What was
    made by another recipe or command than the table's has none, whoever finds that out.

    Raises:
        StorageError: the disk refuses.
    """
    outdated = _outdated(work.place)
    return {
        section.title: [
            _line(work, section, name, row, test, outdated=outdated)
            for test in section.tests
            for name, row in section.rows.items()
            if test in row.by_test(section.tests) or row.published_for(test)
        ]
        for section in work.place.table.sections
    }


def _outdated(place: Workplace) -> dict[str, str]:
    """What is wrong with the stages that were made otherwise than the table says, by name."""
    found = {}
    for name in place.table.stages:
        with suppress(DragomanError):  # of those that cannot be asked, as when text has moved
            if place.state(name) is State.CHANGED:
                found[name] = f"{name}: {problem_of(changed(place, name))}"
    return found


def _problem(work: Work, cell: Cell, outdated: Mapping[str, str]) -> str:
    """Why there is no figure of a cell; empty if there is one."""
    if cell.name in work.problems:
        return work.problems[cell.name]
    for stage in work.place.stages_of(cell.arguments):
        if stage in outdated:
            return outdated[stage]
    try:
        if is_translated(work.place, cell):  # perhaps by another process
            return ""
    except DragomanError as error:
        return problem_of(error)
    busy = work.busy.get(cell.name)
    return "not yet run" if busy is None else work.failures.get(busy, BUSY.format(busy))


def _line(
    work: Work, section: Section, name: str, row: Row, test: str, *, outdated: Mapping[str, str]
) -> Line:
    place = work.place
    line = Line(name, row.label, test, row.published_for(test), group=row.group)
    cell = _cell(place, name, test)
    if cell is None:
        return line
    command = shell(translation_command(place, cell, text_of(place, test)))
    line = replace(line, command=command, missing=_problem(work, cell, outdated))
    if line.missing:
        return line
    baseline = row.baseline or section.baseline
    other = _cell(place, baseline, test) if baseline not in {None, name} else None
    if other is not None and _problem(work, other, outdated):
        other = None
    try:
        found = _scored(place, cell, other)
        return replace(
            line,
            scores=found["scores"],
            baseline="" if other is None else other.row,
            other_baseline="" if other is None else _other_baseline(section, row),
            difference=found["difference"],
            interval=found.get("interval") if place.table.difference_samples else None,
            cost=_cost(place, cell),
            translation_seconds=place.record(TRANSLATIONS, cell.name).get("seconds"),
        )
    except DragomanError as error:
        work.failures[cell.name] = f"{cell.name}: {problem_of(error)}"
        return replace(line, missing=work.failures[cell.name])


def _other_baseline(section: Section, row: Row) -> str:
    """The label of a row's own baseline; empty if the section's has the same."""
    if row.baseline is None:
        return ""
    label = section.rows[row.baseline].label
    usual = None if section.baseline is None else section.rows[section.baseline].label
    return "" if label == usual else label


def _cell(place: Workplace, row: str | None, test: str) -> Cell | None:
    found = cells(place, row) if row is not None else ()
    return next((cell for cell in found if cell.test == test), None)


def _scored(place: Workplace, cell: Cell, baseline: Cell | None) -> dict[str, Any]:
    """Scores and difference, from the record where it is of the same lines and settings."""
    table, reference = place.table, text_of(place, cell.test).reference
    evaluation = evaluation_of(place, cell.test)
    wanted = {
        "evaluation": evaluation.model_dump(mode="json", exclude=_LATER),
        "significance": table.significance.model_dump(mode="json"),
        "translations": content_digest(translations(place, cell)),
        "reference": content_digest(reference),
        "compared": None if baseline is None else content_digest(translations(place, baseline)),
        **_further_settings(place, cell.test, evaluation),
    }
    record = place.record(SCORES, cell.name)
    if not same(record, wanted):
        lines, references = list(read_lines(translations(place, cell))), list(read_lines(reference))
        source = _source(place, cell.test, evaluation)
        scores = [one.to_json() for one in score_corpus(lines, [references], evaluation, source)]
        difference, interval = None, None
        if baseline is not None:
            first = evaluation.model_copy(update={"metrics": evaluation.metrics[:1]})
            before = list(read_lines(translations(place, baseline)))
            difference = compare_systems(
                before, {cell.row: lines}, [references], first, table.significance, source=source
            )[0].to_json()
            if table.difference_samples:
                interval = difference_interval(
                    before,
                    lines,
                    [references],
                    first,
                    metric=first.metrics[0],
                    samples=table.difference_samples,
                    source=source,
                )
        record = {**wanted, "scores": scores, "difference": difference}
        if interval is not None:
            record["interval"] = list(interval)
        write_json(place.record_file(SCORES, cell.name), record)
    return record


def evaluation_of(place: Workplace, test: str) -> EvaluationConfig:
    """The scores of a test: in its language, tokenised as it asks."""
    part, evaluation = place.table.tests[test], place.table.evaluation
    known = {
        "language": part.target_language,
        "bleu_tokenize": part.bleu_tokenize,
        "glossary": part.glossary,
    }
    given = {key: value for key, value in known.items() if value is not None}
    return evaluation.model_copy(update=given)


def _reads_source(evaluation: EvaluationConfig) -> bool:
    return any(metric_named(name).reads_source for name in evaluation.metrics)


def _source(place: Workplace, test: str, evaluation: EvaluationConfig) -> SourceSide | None:
    """The source of a test, for the metrics that read it."""
    if not _reads_source(evaluation):
        return None
    part = place.table.tests[test].resolved("source", "target")
    languages = part.source_language or "source", part.target_language or "target"
    return source_side(list(read_lines(text_of(place, test).source)), evaluation, languages)


def _further_settings(place: Workplace, test: str, evaluation: EvaluationConfig) -> dict[str, Any]:
    """What only some scores depend on, so that records of others stay valid."""
    found: dict[str, Any] = {}
    if place.table.difference_samples:
        found["difference_samples"] = place.table.difference_samples
    if _reads_source(evaluation):
        found["source"] = content_digest(text_of(place, test).source)
    if evaluation.glossary is not None:
        found["glossary"] = _digest_of_glossary(evaluation.glossary)
    return found


def _digest_of_glossary(path: str) -> str:
    try:
        return content_digest(Path(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror} (glossary)") from error


def _cost(place: Workplace, cell: Cell) -> Cost:
    progress = [
        read_progress(checkpoints(run)[-1])
        for run in _runs(translation_command(place, cell, text_of(place, cell.test)))
    ]
    return Cost(
        sum(one.step for one in progress),
        sum(one.target_tokens for one in progress),
        sum(one.seconds for one in progress),
        sum(_stage_seconds(place, name) for name in place.stages_of(cell.arguments)),
    )


def _runs(arguments: Sequence[str]) -> list[Path]:
    """The runs among arguments, and in descriptions of systems among them, each once."""
    found: dict[Path, None] = {}
    for path in _directories(arguments):
        for run in (path, path.parent):  # of a model, which lies in its run
            if checkpoints(run):
                found[run] = None
                break
    return list(found)


def _directories(arguments: Sequence[str]) -> Iterator[Path]:
    for option, argument in zip(["", *arguments], arguments, strict=False):
        path = Path(argument)
        if option == "--system":
            yield from (one.resolve() for one in read_system(path).directories())
        elif path.is_dir():
            yield path.resolve()


def _stage_seconds(place: Workplace, name: str) -> float:
    """Seconds that a stage took: of training, or of its command, which may do more than train."""
    found = checkpoints(place.places[name])
    trained = read_progress(found[-1]).seconds if found else 0.0
    if place.table.stages[name].command is None:
        return trained
    # Of a command that was killed, or was run by hand, its training alone is known.
    return max(trained, float(place.record(STAGES, name).get("seconds", 0)))
