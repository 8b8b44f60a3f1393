"""Whether a distilled student is fast and good: speed beside its teacher's, and BLEU beside it.

    student.py --teacher RUN --student RUN --source FILE --reference FILE

The teacher, an ensemble if ``--teacher`` is repeated, searches with beam 5; students decode
greedily, in float32 and int8, by PyTorch and, where it can express them, by CTranslate2.
All translate the same lines in turn, ``--rounds`` times, on as many threads; the medians of
sentences per second are compared, loading excluded.  The 95 % interval of the difference in BLEU is
by paired bootstrap resampling.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from dragoman.core.errors import DragomanError
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.evaluation.significance import difference_interval
from dragoman.saved.system import TranslationSystem
from dragoman.text.lines import read_lines
from dragoman.translation.translator import Translator

TEACHER_BEAM = 5
_WARM = 16  # sentences before the clock starts
_BLEU = EvaluationConfig(metrics=("bleu",))
_ENGINES: tuple[dict[str, Any], ...] = (
    {"engine": "pytorch"},
    {"engine": "pytorch", "precision": "int8"},
    {"engine": "ctranslate2"},
    {"engine": "ctranslate2", "precision": "int8"},
)


@dataclass
class Contender:
    """A system, and how it has done."""

    name: str
    system: TranslationSystem
    translator: Translator
    speeds: list[float] = field(default_factory=list)
    """Sentences per second in each round."""
    translations: list[str] = field(default_factory=list)

    def translate(self, lines: Sequence[str]) -> None:
        """Take a turn."""
        self.translator.translate(lines[:_WARM])
        started = time.perf_counter()
        self.translations = self.translator.translate(lines)
        self.speeds.append(len(lines) / (time.perf_counter() - started))

    def row(self, teacher: Contender, references: Sequence[str]) -> dict[str, Any]:
        """Its figures, beside the teacher's."""
        (bleu,) = score_corpus(self.translations, [references], _BLEU)
        speed = median(self.speeds)
        values = {
            "system": self.name,
            "sentences_per_second": speed,
            "times_teacher": speed / median(teacher.speeds),
            "bleu": bleu.value,
        }
        if self is teacher:
            return values
        low, high = difference_interval(teacher.translations, self.translations, [references])
        return {**values, "difference_low": low, "difference_high": high}


def contenders(
    teachers: Sequence[Path], students: Sequence[Path], threads: int, problems: list[str]
) -> Iterator[Contender]:
    """The teacher, then each student in each engine; what is not possible joins ``problems``."""
    search = {"beam": TEACHER_BEAM}
    system = TranslationSystem(models=tuple(teachers), device="cpu", search=search)
    name = f"teacher, beam {TEACHER_BEAM}"
    yield Contender(name, system, Translator.of(system))
    for path in students:
        for values in _ENGINES:
            workers = {"workers": threads} if values["engine"] == "ctranslate2" else {}
            system = TranslationSystem(
                models=(path,), device="cpu", search={"beam": 1}, **values, **workers
            )
            name = f"{path.name}, greedy, {system.engine}, {system.precision}"
            try:
                yield Contender(name, system, Translator.of(system))
            except DragomanError as error:
                problems.append(f"{name}: {error}")


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| system | sentences/s | times the teacher | BLEU | 95 % interval of the difference |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        interval = "-"
        if "difference_low" in row:
            interval = f"{row['difference_low']:+.2f} to {row['difference_high']:+.2f}"
        lines.append(
            f"| {row['system']} | {row['sentences_per_second']:.1f} | "
            f"{row['times_teacher']:.2f}x | {row['bleu']:.2f} | {interval} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teacher", type=Path, action="append", required=True, metavar="RUN")
    parser.add_argument("--student", type=Path, action="append", required=True, metavar="RUN")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE")
    parser.add_argument("--lines", type=int, help="only the first lines of the files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    sources = list(islice(read_lines(given.source), given.lines))
    references = list(islice(read_lines(given.reference), given.lines))
    problems: list[str] = []
    with ExitStack() as opened:
        systems = list(contenders(given.teacher, given.student, given.threads, problems))
        for one in systems:
            opened.enter_context(one.translator)
        for _ in range(given.rounds):
            for one in systems:
                one.translate(sources)
    rows = [one.row(systems[0], references) for one in systems]
    print(table(rows))
    for problem in problems:
        print(f"\nNot measured: {problem}")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
