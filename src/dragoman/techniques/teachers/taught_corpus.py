"""A synthetic corpus whose translations come from a teacher behind an API.

Its directory has, beside the files of every synthetic corpus (:mod:`dragoman.translation.shards`),
the answers one by one (``answers.jsonl``) and what became of them (``report.json``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.claims import claimed
from dragoman.core.files import write_json
from dragoman.evaluation.similarity import Closest
from dragoman.techniques.teachers.accounts import report, tell_costs
from dragoman.techniques.teachers.candidate_choice import CandidateChoice, Choosable, choice_of
from dragoman.techniques.teachers.journal import ANSWERS_FILE, Journal, TaughtLine
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher, Wanted
from dragoman.translation.corpus_origin import Known
from dragoman.translation.shards import TEACHER_REPORT_FILE, Counts, Shards
from dragoman.translation.synthesis import (
    LOCK_FILE,
    SHARD_LINES,
    GivenLine,
    Piece,
    Progress,
    SyntheticCorpus,
    measured,
    pieces,
)


def teach_corpus(
    teacher: RemoteTeacher,
    text: Iterable[GivenLine],
    output: Path,
    *,
    known: Known,
    closest: Closest | None = None,
    shard_lines: int = SHARD_LINES,
    progress: Progress = lambda done, total: nullcontext(lambda count: None),
    tell: Callable[[str], object] = lambda line: None,
) -> SyntheticCorpus:
    """Let ``teacher`` translate ``text`` into the corpus ``output``; the same call resumes.

    No line that has an answer is asked for again.  Lines whose answers never pass the checks are
    left out, and the report says why.

    Args:
        teacher: translates.
        text: the lines; they are read twice.
        output: directory of the corpus.
        known: which side ``text`` is.
        closest: chooses among several candidates by a reference, in place of the teacher's choice.
        shard_lines: lines per shard.
        progress: shows how much is done.
        tell: gets a line about what the rest will cost, before the first request.

    Raises:
        ConfigError: ``output`` holds a corpus that was made with other settings, or other files.
        DataError: the text cannot be read, or no line has a translation.
        SavedError: a file of ``output`` is damaged, or another process is using it.
        ServiceError: the server refuses or cannot be reached, or a bound is reached.
        StorageError: the disk refuses.
    """
    config = teacher.config
    shards = Shards(output, more_files=(ANSWERS_FILE, TEACHER_REPORT_FILE))
    shards.check_usable()
    total, digest = measured(text)
    choice = choice_of(config, teacher.direction, closest)
    method = f"{config.api_name} API"
    if config.candidates > 1:
        method += f", {choice.name} of {config.candidates}"
    origin = {
        "known": known,
        "method": method,
        "teacher": teacher.origin(),
        "shard_lines": shard_lines,
        "input": {"lines": total, "sha256": digest},
    }
    use = "this directory; wait until it ends, or choose another one"
    with claimed(output / LOCK_FILE, use):
        if (finished := shards.begin(origin)) is None:
            with Journal(output / ANSWERS_FILE) as journal, choice:
                wanted = (Wanted(place, line.text) for place, line in enumerate(text))
                tell_costs(teacher, wanted, journal, tell)
                rows = _Rows(choice, known, method)
                there = shards.finished()
                done = sum(there.values())
                kept = sum(place // shard_lines not in there for place in journal.answers)
                with progress(done + kept, total) as show:
                    for piece in pieces(text, shard_lines):
                        if piece.number in there:
                            continue
                        lines = list(_wanted(piece, shard_lines))
                        teacher.answer(lines, journal, partial(_show_more, show, done))
                        rows.write(piece, shards, [journal.answers[line.place] for line in lines])
                        done += len(lines)
                        show(done)
                write_json(
                    output / TEACHER_REPORT_FILE, report(teacher, text, journal.answers, journal)
                )
            shards.include(total)
            finished = shards.join(origin)
        counts = {one.name: finished["output"][one.name] for one in fields(Counts)}
        return SyntheticCorpus(shards.path, **counts, origin=finished)


def _wanted(piece: Piece, shard_lines: int) -> Iterable[Wanted]:
    """The lines of a shard by their places; empty ones are not worth a request."""
    start = piece.number * shard_lines
    for place, line in enumerate(piece.lines, start):
        yield Wanted(place, line.text)


def _show_more(show: Callable[[int], object], before: int, done: int) -> None:
    show(before + done)


@dataclass(frozen=True)
class _Rows:
    """Writes shards from lines and their answers."""

    choice: CandidateChoice
    known: Known
    method: str

    def write(self, piece: Piece, shards: Shards, answers: list[TaughtLine]) -> None:
        pairs = list(zip(piece.lines, answers, strict=True))
        chosen = iter(
            self.choice(
                [
                    Choosable(line.text, answer.candidates, line.reference)
                    for line, answer in pairs
                    if answer.candidates
                ]
            )
        )
        with shards.numbered(piece.number, len(piece.lines)) as shard:
            for line, answer in pairs:
                if not line.text.strip():
                    shard.leave_empty()
                elif answer.problem is not None:
                    shard.refuse(f"of the answer: {answer.problem}")
                else:
                    shard.add(self._row(line, answer, next(chosen)))

    def _row(self, line: GivenLine, answer: TaughtLine, made: str) -> dict[str, Any]:
        source, target = (line.text, made) if self.known == "source" else (made, line.text)
        return {
            "source": source,
            "target": target,
            "line": line.number,
            "model": answer.model,
            "method": self.method,
            "date": answer.date,
        }
