"""A file of lines, translated by a model here and repaired by a teacher where the model is unsure.

A system with a calibrated confidence translates all lines.  A teacher behind an API is asked for
those with the lowest confidence, at most a stated share of all lines: a language model judges and
repairs the draft, another server translates the line anew.  What does not pass the checks leaves
the draft as it is.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.claims import claimed
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write, read_json, storage_errors, write_json
from dragoman.saved.directions import only_languages
from dragoman.saved.model import config_of
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.host import Host
from dragoman.techniques.teachers.accounts import report, tell_costs
from dragoman.techniques.teachers.answer_checks import PROBLEMS
from dragoman.techniques.teachers.candidate_choice import Choosable, choice_of
from dragoman.techniques.teachers.journal import ANSWERS_FILE, Journal, TaughtLine
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher, Wanted
from dragoman.text.examples import Direction
from dragoman.translation.shards import ORIGIN_FILE, PAIRS_FILE, TEACHER_REPORT_FILE, differing
from dragoman.translation.synthesis import LOCK_FILE, GivenLine, SyntheticCorpus, translate_corpus

DRAFTS_DIRECTORY = "drafts"
SHARE, BELOW = 0.1, 0.5
CHANGED, UNCHANGED = "changed", "unchanged"


@dataclass(frozen=True)
class Doubt:
    """Which lines a teacher is asked for: those with the lowest confidence."""

    share: float = SHARE
    """Bound on their share of all lines that are not empty."""
    below: float = BELOW
    """Confidence below which a line is doubtful."""

    def places(self, confidences: Mapping[int, float | None]) -> list[int]:
        """The places of doubtful lines, in order.

        Args:
            confidences: of the lines by their places; None: the line has no translation.
        """
        known = {place: -1.0 if one is None else one for place, one in confidences.items()}
        most = math.floor(round(self.share * len(known), 6))  # 0.29 * 100 is below 29
        least = sorted(known, key=lambda place: (known[place], place))[:most]
        return sorted(place for place in least if known[place] < self.below)


@dataclass(frozen=True)
class Repaired:
    """A finished repair."""

    path: Path
    """The file ``pairs.jsonl.gz``, in which each line has its origin."""
    report: Mapping[str, Any]
    """What became of the lines, as in ``report.json``."""

    def translations(self, text: Iterable[GivenLine]) -> Iterator[str | None]:
        """The translation of each line; None for one that has none, "" for an empty one."""
        rows = _rows_by_line(self.path)
        for line in text:
            row = rows(line.number)
            missing = None if line.text.strip() else ""
            yield missing if row is None else str(row["target"])


def direction_of(system: TranslationSystem) -> Direction:
    """The languages of a system, which a teacher must be told.

    Raises:
        ConfigError: lines have different models, or the languages have no names.
        SavedError: a model is missing or damaged.
    """
    if system.chooses_route or system.chooses_adapter:
        raise ConfigError(
            "repair: it is for one model with one confidence; leave out the routes and adapters "
            "by domain"
        )
    legs = system.legs()
    first, last = config_of(legs[0].models[0]), config_of(legs[-1].models[0])
    asked = system.source_language, system.target_language
    if (languages := only_languages(first, last, *asked)) is None:
        raise ConfigError(
            "repair: the teacher must be told the languages of the lines; name them with --from "
            "and --to"
        )
    return Direction(source_language=languages[0], target_language=languages[1])


def repair_text(
    system: TranslationSystem,
    teacher: RemoteTeacher,
    text: Iterable[GivenLine],
    output: Path,
    *,
    doubt: Doubt,
    host: Host,
) -> Repaired:
    """Translate ``text`` and let ``teacher`` repair doubtful lines; the same call resumes.

    No line that has an answer is asked for again, also if the share is raised.

    Args:
        system: translates, with confidence.
        teacher: repairs.
        text: the lines; they are read several times.
        output: directory of the drafts, the answers, the pairs and the report.
        doubt: decides which lines are asked for.
        host: shows the work.

    Raises:
        ConfigError: ``output`` belongs to another text, system or teacher.
        DataError: the text cannot be read, or no line can be translated.
        SavedError: the system is not calibrated, or a file is damaged or in use.
        ServiceError: the server refuses or cannot be reached, or a bound is reached.
        StorageError: the disk refuses.
    """
    drafts = translate_corpus(
        system,
        text,
        output / DRAFTS_DIRECTORY,
        known="source",
        progress=partial(_counting, host, "translating"),
    )
    use = "this directory; wait until it ends, or choose another output"
    with claimed(output / LOCK_FILE, use):
        _check_origin(output, teacher, drafts)
        wanted = list(_doubtful(text, drafts, doubt))
        with Journal(output / ANSWERS_FILE) as journal:
            rows = _Rows.of(teacher, wanted, journal, host)
            rows.write(text, drafts, output / PAIRS_FILE)
            found = {
                **report(teacher, text, rows.answers, journal),
                "lines": {"all": rows.lines, "asked": len(wanted), **rows.counts()},
                "share": doubt.share,
                "below": doubt.below,
            }
            write_json(output / TEACHER_REPORT_FILE, found)
    return Repaired(output / PAIRS_FILE, found)


def _counting(
    host: Host, what: str, start: int, total: int
) -> AbstractContextManager[Callable[[int], None]]:
    return host.counting(what, "lines", total, start)


def _check_origin(output: Path, teacher: RemoteTeacher, drafts: SyntheticCorpus) -> None:
    """Check that the answers in a directory, if there are any, are of this teacher and text."""
    file = output / ORIGIN_FILE
    origin = {"teacher": teacher.origin(), "drafts": drafts.origin["output"]["sha256"]}
    if not file.exists():
        write_json(file, origin)
        return
    try:
        found = dict(read_json(file))
    except (ValueError, TypeError) as error:
        raise SavedError(f"{file}: damaged ({error}); restore it, or remove {output}") from error
    if found != json.loads(json.dumps(origin)):
        raise ConfigError(
            f"{output}: its answers were made with other settings ({differing(found, origin)}; see "
            f"{ORIGIN_FILE}); choose another output, or remove this directory to ask again"
        )


def _rows_by_line(path: Path) -> Callable[[int], dict[str, Any] | None]:
    """A function that finds the row of a line, None if there is none; numbers must rise."""
    rows = _read_rows(path)
    row = next(rows, None)

    def of(number: int) -> dict[str, Any] | None:
        nonlocal row
        if row is None or row["line"] != number:
            return None
        found, row = row, next(rows, None)
        return found

    return of


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with storage_errors(path), gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield json.loads(line)


def _doubtful(text: Iterable[GivenLine], drafts: SyntheticCorpus, doubt: Doubt) -> Iterator[Wanted]:
    """The lines to ask for, with their drafts."""
    rows = _rows_by_line(drafts.path)
    confidences: dict[int, float | None] = {}
    for place, line in enumerate(text):
        row = rows(line.number)
        if line.text.strip():
            confidences[place] = None if row is None else row["confidence"]
    chosen = set(doubt.places(confidences))
    rows = _rows_by_line(drafts.path)
    for place, line in enumerate(text):
        row = rows(line.number)
        if place in chosen:
            yield Wanted(place, line.text, "" if row is None else row["target"])


class _Rows:
    """Writes each line with its translation and their origin.

    Args:
        method: of the teacher, in a few words.
        answers: by the places of the lines that were asked for.
        made: chosen translations by place, where an answer passed the checks.
    """

    def __init__(
        self, method: str, answers: Mapping[int, TaughtLine], made: Mapping[int, str]
    ) -> None:
        self._method, self.answers, self._made = method, answers, made
        self._outcomes: Counter[str] = Counter()
        self.lines = 0
        """Number of lines that are not empty."""
        self._without = 0

    @classmethod
    def of(
        cls, teacher: RemoteTeacher, wanted: list[Wanted], journal: Journal, host: Host
    ) -> _Rows:
        """Ask for the lines that the journal lacks, and choose among the answers."""
        with choice_of(teacher.config, teacher.direction) as choice:
            tell_costs(teacher, wanted, journal, host.tell)
            known = sum(line.place in journal.answers for line in wanted)
            with _counting(host, "repairing", known, len(wanted)) as show:
                teacher.answer(wanted, journal, show)
            answers = {line.place: journal.answers[line.place] for line in wanted}
            good = [line for line in wanted if answers[line.place].candidates]
            chosen = choice([Choosable(line.text, answers[line.place].candidates) for line in good])
        made = {line.place: one for line, one in zip(good, chosen, strict=True)}
        return cls(f"{teacher.config.api_name} API, repair", answers, made)

    def counts(self) -> dict[str, int]:
        """Numbers of lines by outcome."""
        names = (CHANGED, UNCHANGED, *PROBLEMS)
        return {**{name: self._outcomes[name] for name in names}, "untranslated": self._without}

    def write(self, text: Iterable[GivenLine], drafts: SyntheticCorpus, path: Path) -> None:
        """Write the rows, whole or not at all; lines without a translation are left out."""
        draft_of = _rows_by_line(drafts.path)
        with (
            atomic_write(path, "wb") as stream,
            gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
        ):
            for place, line in enumerate(text):
                draft = draft_of(line.number)
                if not line.text.strip():
                    continue
                self.lines += 1
                row = self._row(place, line, draft)
                if row is None:
                    self._without += 1
                    continue
                packed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    def _row(
        self, place: int, line: GivenLine, draft: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        """The pair of a line; None if it has no translation."""
        if (answer := self.answers.get(place)) is None:
            return draft
        before = "" if draft is None else draft["target"]
        outcome = answer.problem or (UNCHANGED if self._made[place] == before else CHANGED)
        self._outcomes[outcome] += 1
        if outcome != CHANGED:
            return None if draft is None else {**draft, "repair": outcome}
        return {
            "source": line.text,
            "target": self._made[place],
            "line": line.number,
            "model": answer.model,
            "method": self._method,
            "date": answer.date,
            "draft": before,
            "confidence": None if draft is None else draft["confidence"],
            "repair": outcome,
        }
